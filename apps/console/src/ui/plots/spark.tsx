import uPlot from 'uplot';
import { Plot } from './plot';

interface SparkProps {
  values: number[];
  /** Name of a color token. */
  color?: string;
}

/** Small bars that show the history of a number; the number itself must be shown next to it. */
export function SparkLine({ values, color: name = 'accent' }: SparkProps) {
  return (
    <Plot
      height={28}
      data={[values.map((_, at) => at), values]}
      look={(color) => ({
        legend: { show: false },
        cursor: { show: false },
        padding: [2, 0, 0, 0],
        scales: {
          x: { time: false, range: () => [-0.6, values.length - 0.4] },
          y: { range: (_, __, most) => [0, most || 1] },
        },
        axes: [{ show: false }, { show: false }],
        series: [
          {},
          { fill: color(name), width: 0, points: { show: false }, paths: uPlot.paths.bars!({ size: [0.7] }) },
        ],
      })}
    />
  );
}
