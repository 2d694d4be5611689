import { useNavigate } from '@tanstack/react-router';
import type uPlot from 'uplot';
import { formatAxisTimes } from '../../../format/axis-times';
import { formatCount, formatDuration } from '../../../format/format';
import { Time } from '../../../format/time';
import { RunLink } from '../../../parts/names';
import { createBottomAxis, createAxis, Plot } from '../../../ui/plots/plot';
import { PlotFigure } from '../../../ui/plots/plot-figure';
import { StatusMark } from '../../../ui/status-mark';
import { findRevisionChanges, type TimedRun } from './select-timed-runs';

/** Durations over time as points. Failed and cancelled runs are hollow; a dashed line marks a change of revision. */
export function DurationPlot({ runs }: { runs: TimedRun[] }) {
  const navigate = useNavigate();
  const changes = findRevisionChanges(runs);
  const listSecondsWhere = (isShown: (run: TimedRun) => boolean) =>
    runs.map((run) => (isShown(run) ? run.seconds : null));
  return (
    <PlotFigure
      label="Durations of runs"
      caption={`The latest ${formatCount(runs.length)} runs by their start. Filled points: completed. Hollow points: failed or cancelled. Dashed lines: another revision. Click a point to open its run.`}
      heads={['Run', 'Status', 'Started', 'Took', 'Revision']}
      rows={[...runs].reverse().map(({ id, status, at, seconds, revision }) => (
        <tr key={id} className="tabular-nums">
          <td>
            <RunLink id={id} />
          </td>
          <td>
            <StatusMark status={status} />
          </td>
          <td>
            <Time at={new Date(at * 1000).toISOString()} />
          </td>
          <td>{formatDuration(seconds * 1000)}</td>
          <td>{formatCount(revision)}</td>
        </tr>
      ))}
    >
      <Plot
        height={162}
        data={[
          runs.map(({ at }) => at),
          listSecondsWhere(({ status }) => status === 'completed'),
          listSecondsWhere(({ status }) => status !== 'completed'),
        ]}
        pick={(at) => void navigate({ to: '/runs/$id', params: { id: runs[at]!.id } })}
        look={(color) => ({
          legend: { show: false },
          cursor: { drag: { x: false, y: false }, y: false },
          padding: [14, 8, 0, 0],
          scales: { y: { range: (_, __, most) => [0, most || 1] } },
          axes: [
            // The labels of the time axis need a second line for the day.
            {
              ...createBottomAxis(color),
              size: 40,
              values: (_, all, __, ___, step) => formatAxisTimes(all, step),
            },
            {
              ...createAxis(color),
              size: 56,
              incrs: durationSteps,
              values: (_, all) => all.map(formatRoundedDuration),
            },
          ],
          series: [
            {},
            { label: 'Completed', ...createPointSeries(color('accent'), color('accent')) },
            { label: 'Failed or cancelled', ...createPointSeries(color('bad'), color('surface')) },
          ],
          hooks: { draw: [(plot) => drawRevisionChanges(plot, changes, color('dim'))] },
        })}
      />
    </PlotFigure>
  );
}

/** Distances of the labels of durations in seconds, so that labels are whole seconds, minutes or hours. */
const durationSteps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400];

function formatRoundedDuration(seconds: number): string {
  if (seconds < 60) return `${formatCount(seconds)} s`;
  return seconds < 7200 ? `${formatCount(seconds / 60)} min` : `${formatCount(seconds / 3600)} h`;
}

function createPointSeries(stroke: string, fill: string): Omit<uPlot.Series, 'label'> {
  return { stroke, paths: () => null, points: { show: true, size: 6, width: 1.5, stroke, fill } };
}

function drawRevisionChanges(plot: uPlot, changes: TimedRun[], ink: string): void {
  const { ctx, bbox } = plot;
  const scale = devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = ink;
  ctx.lineWidth = scale;
  ctx.setLineDash([4 * scale, 4 * scale]);
  ctx.font = `${11 * scale}px system-ui, sans-serif`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  let labelled = -Infinity;
  for (const { at, revision } of changes) {
    const x = Math.round(plot.valToPos(at, 'x', true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    // A label that would overlap the previous one is left out; the table has all revisions.
    if (x - labelled < 30 * scale) continue;
    ctx.fillText(`r${revision}`, x, bbox.top);
    labelled = x;
  }
  ctx.restore();
}
