import type uPlot from 'uplot';
import { createDayAxis, dayBars, dayOptions, dayScale } from './day-bars';
import { createAxis, Plot } from './plot';

/** Styles of the parts, from the bottom to the top. The parts differ in their pattern too, not only in their color. */
const looks = [
  { name: 'solid', color: 'accent', swatch: 'bg-accent' },
  {
    ...{ name: 'striped', color: 'good' },
    swatch: 'bg-[repeating-linear-gradient(135deg,var(--color-good)_0_2px,transparent_2px_5px)]',
  },
  { name: 'hollow', color: 'bad', swatch: 'border border-bad' },
] as const;

interface Part {
  name: string;
  /** One value for each day. */
  values: number[];
}

interface StackedDaysProps {
  /** Days in the format YYYY-MM-DD. */
  days: string[];
  /** At most three parts of each day, from the bottom to the top. */
  parts: Part[];
  format: (value: number) => string;
  /** Called with the clicked day. */
  pick: (day: string) => void;
}

/** Bars of days, each stacked from its parts. */
export function StackedDays({ days, parts, format, pick }: StackedDaysProps) {
  // Each part is drawn as a bar from 0 to its top edge, the highest first, so that the lower ones cover it.
  const tops = parts.map((_, at) =>
    days.map((__, day) => parts.slice(0, at + 1).reduce((sum, { values }) => sum + (values[day] ?? 0), 0)),
  );
  return (
    <Plot
      height={150}
      data={[days.map((day) => Date.parse(day) / 1000), ...[...tops].reverse()]}
      pick={(at) => pick(days[at]!)}
      look={(color) => ({
        ...dayOptions,
        scales: {
          x: dayScale,
          y: { range: (_, __, most) => [0, most || 1] },
        },
        axes: [createDayAxis(color), { ...createAxis(color), size: 64, values: (_, all) => all.map(format) }],
        series: [
          {},
          ...[...parts].reverse().map(({ name }, at): uPlot.Series => {
            const look = looks[parts.length - 1 - at]!;
            return {
              label: name,
              stroke: color(look.color),
              width: 1,
              fill: (plot) => createPattern(plot.ctx, look.name, { ink: color(look.color), paper: color('surface') }),
              ...dayBars,
            };
          }),
        ],
      })}
    />
  );
}

/** Names of the parts with the look of their bars. */
export function StackLegend({ names }: { names: string[] }) {
  return (
    <span className="mr-3 inline-flex flex-wrap items-baseline gap-x-3">
      {names.map((name, at) => (
        <span key={name} className="inline-flex items-baseline gap-1.5">
          <span aria-hidden className={`inline-block size-3 ${looks[at]!.swatch}`} />
          {name}
        </span>
      ))}
    </span>
  );
}

const tile = 6;

function createPattern(
  context: CanvasRenderingContext2D,
  name: (typeof looks)[number]['name'],
  { ink, paper }: { ink: string; paper: string },
): string | CanvasPattern {
  if (name === 'solid') return ink;
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = tile;
  const drawing = canvas.getContext('2d')!;
  // The background color of the page covers the bar below.
  drawing.fillStyle = paper;
  drawing.fillRect(0, 0, tile, tile);
  if (name === 'striped') {
    drawing.strokeStyle = ink;
    drawing.lineWidth = 1.5;
    for (const shift of [-tile, 0, tile]) {
      drawing.moveTo(shift, tile);
      drawing.lineTo(shift + tile, 0);
    }
    drawing.stroke();
  }
  return context.createPattern(canvas, 'repeat')!;
}
