import uPlot from 'uplot';
import { formatDay } from '../../format/format';
import { createBottomAxis, type PlotColors } from './plot';

export const daySeconds = 24 * 60 * 60;

/** Options of plots with a bar for each day. The days are calendar days, so the plot reads times in UTC. */
export const dayOptions = {
  legend: { show: false },
  cursor: { drag: { x: false, y: false }, points: { show: false } },
  tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
} satisfies Partial<uPlot.Options>;

/** The axis is half a day longer at both ends, so that the first and the last bar are not cut off. */
export const dayScale: uPlot.Scale = {
  range: (_, least, most) => [least - daySeconds / 2, most + daySeconds / 2],
};

export function createDayAxis(color: PlotColors): uPlot.Axis {
  return {
    ...createBottomAxis(color),
    values: (_, all) => all.map((at) => formatDay(new Date(at * 1000).toISOString())),
  };
}

export const dayBars = { points: { show: false }, paths: uPlot.paths.bars!({ size: [0.6] }) } satisfies uPlot.Series;
