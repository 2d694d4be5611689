import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { type Agent, agentRunsRuns } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { formatDuration, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { RunLink } from '../../parts/names';
import { Why } from '../../parts/why';
import { ErrorNote } from '../../ui/error-note';
import { Empty, Facts, Panel, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { AgentTimeline } from './agent-timeline';

const Snippets = lazy(async () => ({ default: (await import('./snippets')).Snippets }));

/** What this machine does and why, what it did, and a few lines of code that are run on it at once. */
export function Overview({ agent, mayAsk }: { agent: Agent; mayAsk: boolean }) {
  const { id } = agent;
  return (
    <div className="grid gap-4 xl:grid-cols-[minmax(0,22rem)_minmax(0,1fr)]">
      <div className="flex min-w-0 flex-col gap-4">
        <State agent={agent} />
        <Runs id={id} />
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        <AgentTimeline id={id} />
        {mayAsk && (
          <Suspense fallback={<Skeleton />}>
            <Snippets agentId={id} />
          </Suspense>
        )}
      </div>
    </div>
  );
}

function State({ agent }: { agent: Agent }) {
  return (
    <Panel title="Now">
      <p data-testid="agent-why" className="mb-3">
        <Why text={agent.why} />
      </p>
      <Facts
        facts={[
          [
            'Stops',
            agent.stopAt ? <Time at={agent.stopAt} relative /> : agent.idleAutoStopExempt ? 'never: it is pinned' : '–',
          ],
          ['Current run', agent.currentJobId ? <RunLink id={agent.currentJobId} /> : '–'],
          ['Last seen', <Time at={agent.lastSeen} relative />],
          ['Last activity', <Time at={agent.lastActivityAt} relative />],
          ['Machine', [agent.vmState, agent.vmIp].filter(Boolean).join(' · ') || '–'],
          ['Provider', [agent.provider, agent.providerRef].filter(Boolean).join(' · ')],
          ['Worker', agent.workerVersion ?? '–'],
          ['Labels', agent.labels.join(', ') || '–'],
          ['Made', <Time at={agent.createdAt} />],
          ['Id', <code className="font-mono text-xs">{agent.id}</code>],
        ]}
      />
    </Panel>
  );
}

function Runs({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['agent', id, 'runs'],
    queryFn: ({ signal }) => agentRunsRuns({ path: { id }, signal }),
    refetchInterval: pollMs,
  });
  return (
    <Panel title="Runs">
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton />}
      {data?.runs.length === 0 && <Empty title="Nothing has run here yet." />}
      {data && data.runs.length > 0 && (
        <table className="w-full [&_td]:pr-2 [&_th]:pr-2">
          <thead className="text-left text-xs text-dim">
            <tr>
              {['Run', 'Status', 'Took', 'Steps', 'AI cost'].map((head) => (
                <th key={head} scope="col" className="pb-1.5 font-medium">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {data.runs.map((run) => (
              <tr key={run.id} className="border-t border-line" title={run.error ?? undefined}>
                <td className="py-1.5">
                  <RunLink id={run.id} />
                </td>
                <td>
                  <StatusMark status={run.status} />
                </td>
                <td className="tabular-nums">{run.duration === null ? '–' : formatDuration(run.duration * 1000)}</td>
                <td className="tabular-nums">
                  {run.passedSteps}/{run.totalSteps}
                </td>
                <td className="tabular-nums">{formatMoney(run.totalCost)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}
