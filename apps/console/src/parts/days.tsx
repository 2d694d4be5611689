import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { CostGroup } from '../api/generated';
import { formatMoney } from '../format/format';
import { useShownTheme } from '../frame/theme';

const height = 140;
const daySeconds = 24 * 60 * 60;

/** Runs and spend by day, as bars and a line; as a table for those who do not see them. */
export function Days({ from, count, groups }: { from: string; count: number; groups: CostGroup[] }) {
  const host = useRef<HTMLDivElement>(null);
  const theme = useShownTheme();
  const first = Date.parse(from) / 1000;
  const days = Array.from({ length: count }, (_, at) => first + at * daySeconds);
  const byDay = new Map(groups.map((group) => [group.key, group]));
  const rows = days.map((day) => {
    const date = new Date(day * 1000).toISOString().slice(0, 10);
    return { date, runs: byDay.get(date)?.runs ?? 0, usd: byDay.get(date)?.totalUsd ?? 0 };
  });
  const key = JSON.stringify(rows);
  useEffect(() => {
    const element = host.current!;
    const style = getComputedStyle(element);
    const color = (name: string) => resolved(element, style.getPropertyValue(name));
    const axis = { stroke: color('--color-dim'), grid: { stroke: color('--color-line') } };
    const plot = new uPlot(
      {
        width: element.clientWidth || 300,
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false } },
        scales: {
          runs: { range: (_, __, most) => [0, Math.max(1, most)] },
          usd: { range: (_, __, most) => [0, most || 1] },
        },
        axes: [
          axis,
          { ...axis, scale: 'runs', size: 40 },
          { ...axis, scale: 'usd', side: 1, size: 56, grid: { show: false }, values: (_, all) => all.map(formatMoney) },
        ],
        series: [
          {},
          {
            label: 'Runs',
            scale: 'runs',
            fill: color('--color-picked'),
            stroke: color('--color-accent'),
            paths: uPlot.paths.bars!({ size: [0.6] }),
          },
          { label: 'Spend', scale: 'usd', stroke: color('--color-good'), width: 2, points: { show: false } },
        ],
      },
      [days, rows.map(({ runs }) => runs), rows.map(({ usd }) => usd)],
      element,
    );
    const fit = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    fit.observe(element);
    return () => {
      fit.disconnect();
      plot.destroy();
    };
    // The rows as one text: they are made anew with every look.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [key, theme]);
  return (
    <figure>
      <div ref={host} aria-hidden className="min-w-0 overflow-hidden" />
      <figcaption className="mb-2 text-xs text-dim">Bars: runs. Line: spend.</figcaption>
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

/** A canvas knows no light-dark(): the browser says what it comes to here. */
function resolved(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
