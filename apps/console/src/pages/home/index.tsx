import { Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { agentStatuses } from '@muster/contracts/words';
import type { Agent, Job } from '../../api/generated';
import { usePermission } from '../../api/session';
import { formatCountWithNoun, formatCount, formatMoney } from '../../format/format';
import { Duration } from '../../format/time';
import { isNeverConnected } from '../../parts/agent-status';
import { AgentOfRun } from '../../parts/names';
import { RunStatus } from '../../parts/run/run-status';
import { RunTitle } from '../../parts/run/run-title';
import { EmptyNote, Page, Panel, Progress } from '../../ui/page';
import { PlotSkeleton } from '../../ui/plots/plot-skeleton';
import { StatusMark } from '../../ui/status-mark';
import { QueryPlaceholder } from './asking';
import { AttentionList } from './attention';
import { HomeFigures } from './figures';
import { HeatMap } from './heat-map';
import { dayMs, formatUtcDay, useMachines, useMonthCosts, useRunsWithStatus } from './home-queries';

const Days = lazy(async () => ({ default: (await import('../../parts/days')).DayRange }));

/** Figures and problems first, then runs in progress and machines, then the runs of the last days. */
export function HomePage() {
  const seesRuns = usePermission('runs.read');
  const seesAgents = usePermission('agents.read');
  const seesCosts = usePermission('costs.read');
  return (
    <Page title="Home">
      <HomeFigures />
      <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <AttentionList />
        <div className="flex min-w-0 flex-col gap-4">
          {seesRuns && <InProgress />}
          {seesAgents && <MachineList />}
        </div>
      </div>
      {seesCosts && <MonthCosts />}
      {seesRuns && <HeatMap />}
    </Page>
  );
}

function InProgress() {
  const running = useRunsWithStatus('running');
  const queued = useRunsWithStatus('queued');
  const runs: Job[] = [...(running.data?.items ?? []), ...(queued.data?.items ?? [])];
  return (
    <Panel title="In progress">
      <QueryPlaceholder queries={[running, queued]} />
      {running.data && queued.data && runs.length === 0 && (
        <EmptyNote title="No runs in progress.">Start one with “Run” on a workflow, or create a schedule.</EmptyNote>
      )}
      <ul className="flex flex-col divide-y divide-line">
        {runs.map((run) => (
          <li key={run.id} className="grid grid-cols-[1fr_auto] items-center gap-x-3 gap-y-1 py-2">
            <RunTitle run={run} />
            <RunStatus run={run} />
            <span className="truncate text-xs text-dim">
              on <AgentOfRun run={run} />
            </span>
            <span className="text-right text-xs text-dim">
              <Duration from={run.startedAt ?? run.queuedAt} />
            </span>
            {run.status === 'running' && (
              <div className="col-span-full">
                <Progress percent={run.progress.percent} label={`Progress of run ${run.id}`} />
              </div>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** Number of machines in each status; those that never connected are counted separately. Each links to the list. */
function MachineList() {
  const machines = useMachines();
  const { data } = machines;
  const counts = agentStatuses
    .flatMap((status) => [false, true].map((isNew) => ({ status, isNew })))
    .map(({ status, isNew }) => {
      const isMachineShown = (agent: Agent) => agent.status === status && isNeverConnected(agent) === isNew;
      return { status, isNew, count: data?.items.filter(isMachineShown).length ?? 0 };
    })
    .filter(({ count }) => count > 0);
  return (
    <Panel title="Machines">
      <QueryPlaceholder queries={[machines]} />
      {data?.items.length === 0 && (
        <EmptyNote title="No machines yet.">Create one with “New agent” on the Agents page.</EmptyNote>
      )}
      <ul className="flex flex-wrap gap-2">
        {counts.map(({ status, isNew, count }) => (
          <li key={`${status} ${isNew}`}>
            <Link
              to="/agents"
              search={{ status }}
              className="flex items-center gap-2 rounded-control border border-line px-3 py-1.5 hover:bg-sunken"
            >
              <span className="text-base font-semibold tabular-nums">
                {formatCount(count)}
                {data?.isMore && '+'}
              </span>
              <StatusMark status={status} look={isNew ? 'pending' : status} />
              {isNew && <span className="text-dim">never connected</span>}
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function MonthCosts() {
  const costs = useMonthCosts();
  const { data } = costs;
  const runs = (data?.groups ?? []).reduce((sum, group) => sum + group.runs, 0);
  return (
    <Panel title="Last 30 days">
      <QueryPlaceholder queries={[costs]} />
      {data && (
        <>
          <p className="mb-2 text-dim">
            <span className="text-base font-semibold text-ink tabular-nums">{formatMoney(data.totalUsd)}</span> for{' '}
            {formatCountWithNoun(runs, 'run')}
          </p>
          <Suspense fallback={<PlotSkeleton />}>
            <Days from={formatUtcDay(Date.now() - 29 * dayMs)} count={30} groups={data.groups} />
          </Suspense>
        </>
      )}
    </Panel>
  );
}
