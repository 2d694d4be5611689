import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { jobSummariesActivity } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCountWithNoun, formatCount, formatWeekday } from '../../format/format';
import { Panel } from '../../ui/page';
import { QueryPlaceholder } from './asking';
import { dayMs } from './home-queries';
import { type Hour, groupHoursByDay, computeShade } from './hours';

const days = 14;
const hourMs = dayMs / 24;
const shades = ['', 'bg-accent/15', 'bg-accent/25', 'bg-accent/35', 'bg-accent/50'];

/** Ended runs by day and hour: darker hours had more runs, and the number in an hour counts its failures. */
export function HeatMap() {
  const now = new Date();
  const from = new Date(now.getFullYear(), now.getMonth(), now.getDate() - days + 1).toISOString();
  const activity = useQuery({
    queryKey: ['activity', 'hours', from],
    queryFn: ({ signal }) => jobSummariesActivity({ query: { from }, signal }),
    staleTime: 4 * pollMs,
    refetchInterval: 4 * pollMs,
  });
  return (
    <Panel title="Runs and failures by hour">
      <div className="min-h-100">
        <QueryPlaceholder queries={[activity]} />
        {activity.data && <HourTable rows={groupHoursByDay(activity.data.hours, now, days)} />}
      </div>
    </Panel>
  );
}

function HourTable({ rows }: { rows: Hour[][] }) {
  const busiest = Math.max(1, ...rows.flat().map(({ runs }) => runs));
  return (
    <>
      <div className="relative overflow-x-auto" tabIndex={0} role="region" aria-label="Runs and failures by hour">
        <table
          aria-label="Ended runs by day and hour"
          className="w-full min-w-176 table-fixed border-separate border-spacing-0.5 tabular-nums"
        >
          <thead className="text-xs text-dim">
            <tr>
              <th scope="col" className="w-20 text-left font-medium">
                Day
              </th>
              {rows[0]!.map(({ at }, hour) => (
                <th key={at} scope="col" className="text-left font-normal">
                  <span className={hour % 3 === 0 ? '' : 'sr-only'}>{hour}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((hours) => (
              <tr key={hours[0]!.at}>
                <th scope="row" className="text-left text-xs font-normal whitespace-nowrap">
                  <Link to="/runs" search={buildEndedFilter(hours[0]!.at, hours[23]!.at)} className="hover:underline">
                    {formatWeekday(hours[0]!.at)}
                  </Link>
                </th>
                {hours.map((hour) => (
                  <td key={hour.at} className={`h-6 rounded-xs p-0 ${shades[computeShade(hour.runs, busiest)]}`}>
                    <HourLink hour={hour} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="mt-1 text-xs text-dim">
        Stronger color: more runs, at most {formatCount(busiest)} in an hour. Numbers: failed runs. Click an hour to see
        the runs that ended in it.
      </p>
    </>
  );
}

/**
 * The Tab key reaches only the hours with failures. Keyboard users open the other hours through the link of the day.
 */
function HourLink({ hour: { at, runs, failed } }: { hour: Hour }) {
  if (runs === 0) return <span className="sr-only">0</span>;
  const label = `${formatCountWithNoun(runs, 'run')}, ${formatCount(failed)} failed`;
  return (
    <Link
      to="/runs"
      search={{ ...buildEndedFilter(at, at), ...(failed > 0 ? { status: 'failed' } : {}) }}
      tabIndex={failed > 0 ? 0 : -1}
      title={label}
      aria-label={label}
      className="block h-full text-center text-xs leading-6 font-semibold hover:outline-2 hover:outline-accent"
    >
      {failed > 0 && formatCount(failed)}
    </Link>
  );
}

/** Filter of the runs that ended from the start of the first hour to the end of the last one, latest first. */
function buildEndedFilter(first: number, last: number) {
  return {
    endedFrom: new Date(first).toISOString(),
    endedTo: new Date(last + hourMs).toISOString(),
    sort: '-finishedAt',
  };
}
