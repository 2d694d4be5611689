import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { readFirstItems } from '../../api/read-all-items';
import { readRunsEndedSince } from '../../api/read-runs-ended-since';
import { type Job, jobsList } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatCount } from '../../format/format';
import { Duration, Time } from '../../format/time';
import { AgentOfRun, RunLink, WorkflowLink } from '../../parts/names';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, Panel, Skeleton } from '../../ui/page';
import { PlainTable } from '../../ui/table/plain-table';

const most = 200;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The organization's waiting runs with their reasons, and the number of runs that ended in the last hour. */
export function RunQueue() {
  const since = new Date(Math.floor((Date.now() - hourMs) / minuteMs) * minuteMs).toISOString();
  const queued = useRunsWithStatus('queued');
  const running = useRunsWithStatus('running');
  const completed = useRunsEndedSince('completed', since);
  const failed = useRunsEndedSince('failed', since);
  const all = [queued, running, completed, failed];
  const error = all.find((each) => each.error)?.error;
  if (!queued.data || !running.data || !completed.data || !failed.data) {
    return (
      <Panel title="Runs">
        {error ? (
          <ErrorNote error={error} retry={() => all.forEach((each) => void each.refetch())} />
        ) : (
          <Skeleton rows={4} />
        )}
      </Panel>
    );
  }
  const waiting = queued.data.items;
  const ended = completed.data.items.length + failed.data.items.length;
  const endedMore = completed.data.isMore || failed.data.isMore;
  return (
    <Panel title="Runs">
      <dl className="grid grid-cols-2 gap-3 sm:flex sm:flex-wrap">
        <QueueFigure name="Waiting" search={{ status: 'queued' }}>
          {formatCountOrMore(waiting.length, queued.data.isMore)}
        </QueueFigure>
        <QueueFigure name="Longest wait">{waiting[0] ? <Duration from={waiting[0].queuedAt} /> : '–'}</QueueFigure>
        <QueueFigure name="Running" search={{ status: 'running' }}>
          {formatCountOrMore(running.data.items.length, running.data.isMore)}
        </QueueFigure>
        <QueueFigure name="Ended in the last hour" search={{ sort: '-finishedAt' }}>
          {formatCountOrMore(ended, endedMore)}
        </QueueFigure>
        <QueueFigure name="Failed in the last hour" search={{ sort: '-finishedAt', status: 'failed' }}>
          {formatCountOrMore(failed.data.items.length, failed.data.isMore)}
        </QueueFigure>
      </dl>
      <div className="mt-3">
        {waiting.length === 0 && <EmptyNote title="No runs are waiting." />}
        {waiting.length > 0 && (
          <PlainTable label="Waiting runs" heads={['Run', 'Workflow', 'Agent', 'Waiting since', 'Reason']}>
            {waiting.slice(0, 50).map((run) => (
              <tr key={run.id}>
                <td>
                  <RunLink id={run.id} />
                </td>
                <td>
                  <WorkflowLink id={run.workflowId} />
                </td>
                <td>
                  <AgentOfRun run={run} />
                </td>
                <td>
                  <Time at={run.waiting?.since ?? run.queuedAt} relative />
                </td>
                <td>{run.waiting?.reason.replaceAll('_', ' ') ?? 'next in the queue'}</td>
              </tr>
            ))}
          </PlainTable>
        )}
      </div>
    </Panel>
  );
}

interface FigureProps {
  name: string;
  /** Search parameters with which the page of runs lists the counted runs. */
  search?: Record<string, string>;
  children: ReactNode;
}

function QueueFigure({ name, search, children }: FigureProps) {
  return (
    <div className="min-w-32 rounded-control border border-line px-3 py-1.5">
      <dt className="text-xs text-dim">{name}</dt>
      <dd className="text-base font-semibold tabular-nums">
        {search ? (
          <Link to="/runs" search={search} className="hover:underline">
            {children}
          </Link>
        ) : (
          children
        )}
      </dd>
    </div>
  );
}

function useRunsWithStatus(status: Job['status']) {
  return useQuery({
    queryKey: ['runs', 'queue', status],
    // Oldest first, so that the longest waiting runs are on the first page.
    queryFn: ({ signal }) =>
      readFirstItems(most, async (page) => {
        const { jobs, nextCursor } = await jobsList({ query: { ...page, status, sort: 'queuedAt' }, signal });
        return { items: jobs, nextCursor };
      }),
    refetchInterval: pollMs,
  });
}

function useRunsEndedSince(status: 'completed' | 'failed', since: string) {
  return useQuery({
    queryKey: ['runs', 'queue', status, since],
    queryFn: ({ signal }) => readRunsEndedSince({ status, since, most }, signal),
    refetchInterval: pollMs,
    placeholderData: (previous) => previous,
  });
}

function formatCountOrMore(number: number, hasMore: boolean): string {
  return `${formatCount(number)}${hasMore ? '+' : ''}`;
}
