import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { agentsMachineTime, type MachineDay, type MachineTime as MachineTimeAnswer } from '../../api/generated';
import { formatCount, formatDay, formatDuration, formatShare } from '../../format/format';
import { useRunsOfDayFilter } from '../../parts/runs-of-day';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Panel, Skeleton } from '../../ui/page';
import { PlotFigure } from '../../ui/plots/plot-figure';

const hourMs = 60 * 60 * 1000;
/** Length of the longest day, on which daylight saving ends. */
const longestDay = 25;

/** Parts of a day's strip, from left to right. They differ in their pattern too, not only in their color. */
const parts = [
  { key: 'usedHours', name: 'Used by runs', look: 'bg-accent' },
  {
    key: 'idleHours',
    name: 'On without a run',
    look: 'bg-[repeating-linear-gradient(135deg,var(--color-accent)_0_2px,transparent_2px_5px)]',
  },
  { key: 'offHours', name: 'Off', look: 'border border-edge' },
  { key: 'unknownHours', name: 'No record', look: 'border-b border-dashed border-edge' },
] as const;

/** Time for which the machine was on, used and idle on each of the last 30 days, the latest day first. */
export function MachineTime({ agentId }: { agentId: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['agent', agentId, 'machine time'],
    queryFn: ({ signal }) => agentsMachineTime({ path: { id: agentId }, signal }),
    staleTime: 60_000,
  });
  return (
    <Panel title="Machine time of the last 30 days">
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton rows={12} />}
      {data && (hasNoHours(data) ? <NoTime /> : <DayStrips agentId={agentId} time={data} />)}
    </Panel>
  );
}

function hasNoHours({ total }: MachineTimeAnswer): boolean {
  return total.onHours === 0 && total.runs === 0;
}

function NoTime() {
  return (
    <EmptyNote title="No machine time yet.">
      The days appear here after the machine was on or a run has ended on it. Start a run with “Run” on a workflow.
    </EmptyNote>
  );
}

function DayStrips({ agentId, time: { total, days } }: { agentId: string; time: MachineTimeAnswer }) {
  const runsOf = useRunsOfDayFilter();
  const rows = [...days].reverse();
  const buildDayLink = ({ day }: MachineDay) => (
    <Link to="/runs" search={{ agentId, ...runsOf(day) }} className="whitespace-nowrap text-accent hover:underline">
      {formatDay(day)}
    </Link>
  );
  return (
    <>
      <p className="mb-3 text-dim">
        On for <strong className="text-base font-semibold text-ink">{formatHours(total.onHours)}</strong>, of which{' '}
        {formatHours(total.usedHours)} ({formatShare(total.usedHours, total.onHours)}) were used by runs and{' '}
        {formatHours(total.idleHours)} were idle.
      </p>
      <PlotFigure
        label="Machine time by day"
        caption={
          <>
            <Legend /> Click a day to see the runs that ended on it.
          </>
        }
        heads={['Day', 'On', 'Used', 'Idle', 'Off', 'No record', 'Runs ended']}
        rows={rows.map((row) => (
          <tr key={row.day} className="tabular-nums">
            <td>{buildDayLink(row)}</td>
            {[row.onHours, row.usedHours, row.idleHours, row.offHours, row.unknownHours].map((hours, at) => (
              <td key={at}>{formatHours(hours)}</td>
            ))}
            <td>{formatCount(row.runs)}</td>
          </tr>
        ))}
      >
        <ul className="flex flex-col gap-1">
          {rows.map((row) => (
            <li
              key={row.day}
              data-testid="machine-day"
              className="grid grid-cols-[4rem_minmax(0,1fr)] items-center gap-x-3 tabular-nums sm:grid-cols-[4rem_minmax(0,1fr)_16rem]"
            >
              {buildDayLink(row)}
              <Strip day={row} />
              <span className="col-start-2 text-xs text-dim sm:col-start-3">{describeDay(row)}</span>
            </li>
          ))}
        </ul>
      </PlotFigure>
    </>
  );
}

/** A strip as long as the day, without the part that has not passed yet. */
function Strip({ day }: { day: MachineDay }) {
  return (
    <span aria-hidden className="flex h-4">
      {parts.map(({ key, look }) => (
        <span key={key} className={day[key] > 0 ? look : ''} style={{ width: `${(day[key] / longestDay) * 100}%` }} />
      ))}
    </span>
  );
}

function Legend() {
  return (
    <span className="mr-1 inline-flex flex-wrap gap-x-3">
      {parts.map(({ key, name, look }) => (
        <span key={key} className="inline-flex items-center gap-1.5">
          <span aria-hidden className={`inline-block size-3 ${look}`} />
          {name}
        </span>
      ))}
    </span>
  );
}

function describeDay({ onHours, usedHours, idleHours, offHours, unknownHours }: MachineDay): string {
  if (onHours > 0) return `${formatHours(usedHours)} used, ${formatHours(idleHours)} idle`;
  return offHours > 0 ? 'off' : unknownHours > 0 ? 'no record' : 'not created yet';
}

function formatHours(hours: number): string {
  return formatDuration(hours * hourMs);
}
