import { useNavigate } from '@tanstack/react-router';
import uPlot from 'uplot';
import type { CostGroup } from '../api/generated';
import { formatCount, formatDay, formatMoney } from '../format/format';
import { Plot } from '../ui/plots/plot';

const daySeconds = 24 * 60 * 60;

/** Runs and spend by day as a plot, in which a click on a day opens its runs; also as a table for screen readers. */
export function Days({ from, count, groups }: { from: string; count: number; groups: CostGroup[] }) {
  const navigate = useNavigate();
  const first = Date.parse(from) / 1000;
  const days = Array.from({ length: count }, (_, at) => first + at * daySeconds);
  const byDay = new Map(groups.map((group) => [group.key, group]));
  const rows = days.map((day) => {
    const date = new Date(day * 1000).toISOString().slice(0, 10);
    return { date, runs: byDay.get(date)?.runs ?? 0, usd: byDay.get(date)?.totalUsd ?? 0 };
  });
  return (
    <figure>
      <Plot
        height={140}
        data={[days, rows.map(({ runs }) => runs), rows.map(({ usd }) => usd)]}
        pick={(at) => {
          const day = `${rows[at]!.date}T00:00:00`;
          const search = {
            from: new Date(day).toISOString(),
            to: new Date(Date.parse(day) + daySeconds * 1000).toISOString(),
          };
          void navigate({ to: '/runs', search });
        }}
        look={(color) => {
          const axis = { stroke: color('dim'), grid: { stroke: color('line'), width: 1 }, ticks: { show: false } };
          return {
            legend: { show: false },
            cursor: { drag: { x: false, y: false }, points: { show: false } },
            tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
            scales: {
              // Half a day more at both ends, so that the first and the last bar are not cut off.
              x: { range: (_, least, most) => [least - daySeconds / 2, most + daySeconds / 2] },
              runs: { range: (_, __, most) => [0, Math.max(1, most)] },
              usd: { range: (_, __, most) => [0, most || 1] },
            },
            axes: [
              {
                ...axis,
                grid: { show: false },
                values: (_, all) => all.map((at) => formatDay(new Date(at * 1000).toISOString())),
              },
              { ...axis, scale: 'runs', size: 44, values: (_, all) => all.map((value) => formatCount(value)) },
              {
                ...axis,
                scale: 'usd',
                side: 1,
                size: 60,
                grid: { show: false },
                values: (_, all) => all.map(formatMoney),
              },
            ],
            series: [
              {},
              {
                label: 'Runs',
                scale: 'runs',
                fill: color('picked'),
                stroke: color('accent'),
                points: { show: false },
                paths: uPlot.paths.bars!({ size: [0.6] }),
              },
              { label: 'Spend', scale: 'usd', stroke: color('good'), width: 2, points: { show: false } },
            ],
          };
        }}
      />
      <figcaption className="mt-1 text-xs text-dim">
        Bars: runs. Line: spend. Click a bar to see the runs of its day.
      </figcaption>
      <table className="sr-only">
        <caption>Runs and spend by day</caption>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Runs</th>
            <th scope="col">Spend</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ date, runs, usd }) => (
            <tr key={date}>
              <td>{date}</td>
              <td>{runs}</td>
              <td>{formatMoney(usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
