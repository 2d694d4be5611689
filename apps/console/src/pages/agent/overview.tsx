import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { type Agent, jobsList } from '../../api/generated';
import { usePermission } from '../../api/session';
import { pollMs } from '../../api/query-client';
import { formatDuration, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { ChangesLink, LabelLinks, RunLink } from '../../parts/names';
import { RunCause, RunTitle } from '../../parts/run/run-title';
import { ExplanationText } from '../../parts/why';
import { ErrorNote } from '../../ui/error-note';
import { EmptyNote, FactList, Panel, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { AgentTimeline } from './agent-timeline';

const Snippets = lazy(async () => ({ default: (await import('./snippets')).Snippets }));

/** State of the agent with its reason, its runs, its timeline and a form to run a snippet on its machine. */
export function Overview({ agent, mayAsk }: { agent: Agent; mayAsk: boolean }) {
  const { id } = agent;
  const seesRuns = usePermission('runs.read');
  return (
    <div className="grid gap-4 xl:grid-cols-[minmax(0,22rem)_minmax(0,1fr)]">
      <div className="flex min-w-0 flex-col gap-4">
        <AgentState agent={agent} />
        {seesRuns && <AgentRuns id={id} />}
      </div>
      <div className="flex min-w-0 flex-col gap-4">
        {seesRuns && <AgentTimeline id={id} />}
        {mayAsk && (
          <Suspense fallback={<Skeleton />}>
            <Snippets agentId={id} />
          </Suspense>
        )}
      </div>
    </div>
  );
}

function AgentState({ agent }: { agent: Agent }) {
  return (
    <Panel title="Now">
      <p data-testid="agent-why" className="mb-3">
        <ExplanationText text={agent.why} />
      </p>
      <FactList
        facts={[
          [
            'Stops',
            agent.stopAt ? <Time at={agent.stopAt} relative /> : agent.idleAutoStopExempt ? 'never (pinned)' : '–',
          ],
          ['Current run', agent.currentJobId ? <RunLink id={agent.currentJobId} /> : '–'],
          ['Last seen', <Time at={agent.lastSeen} relative />],
          ['Last activity', <Time at={agent.lastActivityAt} relative />],
          ['Machine', [agent.vmState, agent.vmIp].filter(Boolean).join(' · ') || '–'],
          ['Provider', [agent.provider, agent.providerRef].filter(Boolean).join(' · ')],
          ['Worker', agent.workerVersion ?? '–'],
          ['Capabilities', <Capabilities capabilities={agent.capabilities} />],
          ['Labels', agent.labels.length > 0 ? <LabelLinks labels={agent.labels} /> : '–'],
          [
            'Created',
            <ChangesLink id={agent.id}>
              <Time at={agent.createdAt} />
            </ChangesLink>,
          ],
          ['Id', <code className="font-mono text-xs">{agent.id}</code>],
        ]}
      />
    </Panel>
  );
}

/** Software that commands may need, and whether the machine has it; with a reason if it does not. */
function Capabilities({ capabilities }: Pick<Agent, 'capabilities'>) {
  if (capabilities === null) return <span className="text-dim">unknown: the worker reported no list of programs</span>;
  return (
    <ul data-testid="agent-capabilities" className="flex flex-col gap-0.5">
      {capabilities.map(({ name, available, detail }) => (
        <li key={name} className={available ? '' : 'text-dim'}>
          {available ? '✓' : '✗'} <span className="sr-only">{available ? 'has' : 'lacks'}</span>{' '}
          {capabilityNames[name] ?? name}
          {detail && <span className="text-dim [overflow-wrap:anywhere]"> · {detail}</span>}
        </li>
      ))}
    </ul>
  );
}

const capabilityNames: Record<string, string> = {
  ...{ python: 'Python', chromium: 'Chromium', ffmpeg: 'ffmpeg', pillow: 'Pillow' },
  ...{ odbc: 'ODBC', sandbox: 'Browser sandbox' },
};

const mostRuns = 10;

function AgentRuns({ id }: { id: string }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['runs', 'of agent', id],
    queryFn: ({ signal }) => jobsList({ query: { agentId: id, limit: mostRuns }, signal }),
    refetchInterval: pollMs,
  });
  return (
    <Panel title="Runs">
      {error && !data ? <ErrorNote error={error} retry={() => void refetch()} /> : !data && <Skeleton />}
      {data?.jobs.length === 0 && (
        <EmptyNote title="No runs on this agent yet.">Start one with “Run” on a workflow.</EmptyNote>
      )}
      {data && data.jobs.length > 0 && (
        <ul className="-my-1.5 divide-y divide-line">
          {data.jobs.map((run) => (
            <li key={run.id} className="py-1.5">
              <RunTitle run={run} />
              <RunCause run={run} />
              <p className="flex flex-wrap items-baseline gap-x-2 text-xs text-dim tabular-nums">
                <StatusMark status={run.status} />
                <Time at={run.startedAt ?? run.queuedAt} relative />
                {run.durationMs !== null && <span>{formatDuration(run.durationMs)}</span>}
                {run.totalCostUsd !== null && <span>{formatMoney(run.totalCostUsd)}</span>}
              </p>
            </li>
          ))}
        </ul>
      )}
      {data?.nextCursor && (
        <p className="mt-3">
          <Link to="/runs" search={{ agentId: id }} className="text-accent hover:underline">
            All runs of this agent
          </Link>
        </p>
      )}
    </Panel>
  );
}
