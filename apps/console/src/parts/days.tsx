import { Link, useNavigate } from '@tanstack/react-router';
import type { CostGroup } from '../api/generated';
import { formatCount, formatDay, formatMoney } from '../format/format';
import { useRunsOfDayFilter } from './runs-of-day';
import { createDayAxis, dayBars, dayOptions, dayScale, daySeconds } from '../ui/plots/day-bars';
import { createAxis, Plot } from '../ui/plots/plot';
import { PlotFigure } from '../ui/plots/plot-figure';

/** Runs and spend by day as a plot and as a table. A click on a day opens the runs that ended on it. */
export function DayRange({ from, count, groups }: { from: string; count: number; groups: CostGroup[] }) {
  const navigate = useNavigate();
  const runsOf = useRunsOfDayFilter();
  const first = Date.parse(from) / 1000;
  const days = Array.from({ length: count }, (_, at) => first + at * daySeconds);
  const byDay = new Map(groups.map((group) => [group.key, group]));
  const rows = days.map((day) => {
    const date = new Date(day * 1000).toISOString().slice(0, 10);
    return { date, runs: byDay.get(date)?.runs ?? 0, usd: byDay.get(date)?.totalUsd ?? 0 };
  });
  return (
    <PlotFigure
      label="Runs and spend by day"
      caption="Bars: runs. Line: spend. Click a bar to see the runs of its day."
      heads={['Day', 'Runs', 'Spend']}
      rows={rows.map(({ date, runs, usd }) => (
        <tr key={date} className="tabular-nums">
          <td>
            <Link to="/runs" search={runsOf(date)} className="text-accent hover:underline">
              {formatDay(date)}
            </Link>
          </td>
          <td>{formatCount(runs)}</td>
          <td>{formatMoney(usd)}</td>
        </tr>
      ))}
    >
      <Plot
        height={150}
        data={[days, rows.map(({ runs }) => runs), rows.map(({ usd }) => usd)]}
        pick={(at) => void navigate({ to: '/runs', search: runsOf(rows[at]!.date) })}
        look={(color) => ({
          ...dayOptions,
          scales: {
            x: dayScale,
            runs: { range: (_, __, most) => [0, Math.max(1, most)] },
            usd: { range: (_, __, most) => [0, most || 1] },
          },
          axes: [
            createDayAxis(color),
            {
              ...createAxis(color),
              scale: 'runs',
              size: 44,
              values: (_, all) => all.map((value) => formatCount(value)),
            },
            {
              ...{ ...createAxis(color), scale: 'usd', side: 1, size: 60, grid: { show: false } },
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
              ...dayBars,
            },
            { label: 'Spend', scale: 'usd', stroke: color('good'), width: 2, points: { show: false } },
          ],
        })}
      />
    </PlotFigure>
  );
}
