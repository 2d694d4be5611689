import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { agentStatuses } from '@muster/contracts/words';
import { costsCosts, type Job } from '../../api/generated';
import { formatCount, formatMoney } from '../../format/format';
import { Duration } from '../../format/time';
import { AgentLink, RunLink, WorkflowLink } from '../../parts/names';
import { RunStatus } from '../../parts/run-status';
import { Empty, Page, Panel, Progress, Skeleton } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { Asking } from './asking';
import { Attention } from './attention';
import { dayMs, useMachines, useRuns } from './home-queries';

const Days = lazy(async () => ({ default: (await import('../../parts/days')).Days }));

export function HomePage() {
  return (
    <Page title="Home">
      <div className="grid gap-4 xl:grid-cols-2">
        <Attention />
        <InProgress />
        <Machines />
        <Spend />
      </div>
    </Page>
  );
}

function InProgress() {
  const running = useRuns('running');
  const queued = useRuns('queued');
  const runs: Job[] = [...(running.data?.items ?? []), ...(queued.data?.items ?? [])];
  return (
    <Panel title="In progress">
      <Asking queries={[running, queued]} />
      {running.data && queued.data && runs.length === 0 && (
        <Empty title="Nothing runs now.">A run begins with “Run” on a workflow, or with a schedule.</Empty>
      )}
      <ul className="flex flex-col divide-y divide-line">
        {runs.map((run) => (
          <li key={run.id} className="grid grid-cols-[6rem_1fr_auto] items-center gap-x-3 gap-y-1 py-2">
            <RunStatus run={run} />
            <span className="truncate">
              <RunLink id={run.id} /> <WorkflowLink id={run.workflowId} /> on <AgentLink id={run.agentId} />
            </span>
            <Duration from={run.startedAt ?? run.queuedAt} />
            <div className="col-span-full">
              <Progress percent={run.progress.percent} label={`Progress of run ${run.id}`} />
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** How many machines are in each state; each figure leads to them. */
function Machines() {
  const machines = useMachines();
  const { data } = machines;
  const counts = agentStatuses
    .map((status) => ({ status, count: data?.items.filter((agent) => agent.status === status).length ?? 0 }))
    .filter(({ count }) => count > 0);
  return (
    <Panel title="Machines">
      <Asking queries={[machines]} />
      {data?.items.length === 0 && (
        <Empty title="There is no machine yet.">“New agent”, on the page of agents, makes one.</Empty>
      )}
      <ul className="flex flex-wrap gap-2">
        {counts.map(({ status, count }) => (
          <li key={status}>
            <Link
              to="/agents"
              search={{ status }}
              className="flex items-center gap-2 rounded-control border border-line px-3 py-1.5 hover:bg-sunken"
            >
              <span className="text-base font-semibold tabular-nums">
                {formatCount(count)}
                {data?.isMore && '+'}
              </span>
              <StatusMark status={status} />
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Spend() {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const [from, to] = [day(Date.now() - 13 * dayMs), day(Date.now())];
  const costs = useQuery({
    queryKey: ['costs', from, to],
    queryFn: ({ signal }) => costsCosts({ query: { from, to, groupBy: 'day' }, signal }),
    staleTime: 60_000,
  });
  const { data } = costs;
  const runs = (data?.groups ?? []).reduce((sum, group) => sum + group.runs, 0);
  return (
    <Panel title="14 days">
      <Asking queries={[costs]} />
      {data && (
        <>
          <p className="mb-2 text-dim">
            <span className="text-base font-semibold text-ink tabular-nums">{formatMoney(data.totalUsd)}</span> for{' '}
            {formatCount(runs)} {runs === 1 ? 'run' : 'runs'}
          </p>
          <Suspense fallback={<Skeleton rows={5} />}>
            <Days from={from} count={14} groups={data.groups} />
          </Suspense>
        </>
      )}
    </Panel>
  );
}
