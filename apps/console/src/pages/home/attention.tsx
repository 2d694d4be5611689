import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { allOf } from '../../api/all-of';
import { type Agent, deadLettersList, schedulesList, type Usage, usageRead } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { useMay } from '../../api/session';
import { formatCount, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { AgentLink, RunLink, WorkflowLink } from '../../parts/names';
import { RunStatus } from '../../parts/run-status';
import { Why } from '../../parts/why';
import { Empty, Panel } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { Asking } from './asking';
import { dayMs, useAwaited, useFailedSince, useMachines } from './home-queries';

/** What somebody should look at now, each with the way to it. */
export function Attention() {
  const since = new Date(Math.floor(Date.now() / 60_000) * 60_000 - dayMs).toISOString();
  const failed = useFailedSince(since);
  const usage = useQuery({
    queryKey: ['usage'],
    queryFn: ({ signal }) => usageRead({ signal }),
    refetchInterval: 4 * pollMs,
  });
  const schedules = useQuery({
    queryKey: ['schedules', 'attention'],
    queryFn: ({ signal }) =>
      allOf(async (page) => {
        const { schedules: items, nextCursor } = await schedulesList({ query: page, signal });
        return { items, nextCursor };
      }),
    refetchInterval: 4 * pollMs,
  });
  const late = schedules.data?.items.filter(
    ({ enabled, lastResult }) => enabled && lastResult && lastResult !== 'launched',
  );
  const limits = usage.data ? nearLimits(usage.data) : [];
  const isAdmin = useMay('admin');
  const dead = useQuery({
    queryKey: ['dead-letters', 'home'],
    queryFn: ({ signal }) => deadLettersList({ query: { limit: 200 }, signal }),
    refetchInterval: 4 * pollMs,
    enabled: isAdmin,
  });
  const wrong = useWrongMachines();
  const all = [failed, usage, schedules, ...wrong.queries, ...(isAdmin ? [dead] : [])];
  const isKnown = all.every(({ data }) => data);
  const deadCount = dead.data?.deadLetters.length ?? 0;
  const count =
    (failed.data?.items.length ?? 0) +
    (late?.length ?? 0) +
    limits.length +
    wrong.offline.length +
    wrong.machines.length +
    deadCount;
  return (
    <Panel title="Needs attention">
      <Asking queries={all} />
      {isKnown && count === 0 && <Empty title="Nothing needs you now.">No run failed in the last 24 hours.</Empty>}
      <ul className="flex flex-col divide-y divide-line">
        {limits.map((text) => (
          <li key={text} className="py-2 font-medium text-warn">
            {text}
          </li>
        ))}
        {wrong.offline.map(({ id, why }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 py-2 [overflow-wrap:anywhere]">
            <StatusMark status="offline" />
            <AgentLink id={id} />
            <span className="text-dim">
              <Why text={why} />
            </span>
          </li>
        ))}
        {wrong.machines.map(({ id, name, status, says }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 py-2 [overflow-wrap:anywhere]">
            <StatusMark status={status} />
            <AgentLink id={id} name={name} />
            <span className="text-dim">{says}</span>
          </li>
        ))}
        {deadCount > 0 && (
          <li className="flex flex-wrap items-center gap-x-3 py-2 [overflow-wrap:anywhere]">
            <StatusMark status="dead" />
            <Link to="/queues" className="text-accent hover:underline">
              {formatCount(deadCount)}
              {dead.data?.nextCursor && '+'} {deadCount === 1 ? 'dead letter' : 'dead letters'}
            </Link>
            <span className="text-dim">given up after the last attempt</span>
          </li>
        )}
        {late?.map(({ id, name, lastResult, lastRunAt }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 py-2 [overflow-wrap:anywhere]">
            <StatusMark status={lastResult!} />
            <Link to="/schedules/$id" params={{ id }} className="text-accent hover:underline">
              <bdi>{name}</bdi>
            </Link>
            <Time at={lastRunAt} relative />
          </li>
        ))}
        {failed.data?.items.map((run) => (
          <li key={run.id} className="flex items-center gap-x-3 py-2">
            <RunStatus run={run} />
            <RunLink id={run.id} />
            <span className="max-w-40 shrink-0 truncate">
              <WorkflowLink id={run.workflowId} />
            </span>
            <bdi className="min-w-0 grow truncate text-dim max-sm:hidden" title={run.error ?? undefined}>
              {run.error}
            </bdi>
            <Time at={run.finishedAt} relative />
          </li>
        ))}
      </ul>
      {failed.data?.isMore && (
        <Link to="/runs" search={{ status: 'failed', sort: '-finishedAt' }} className="text-accent hover:underline">
          All failed runs, the latest first
        </Link>
      )}
    </Panel>
  );
}

/** A stop takes a moment; what is on for longer than that after its time is not being stopped. */
const overdueMs = 2 * 60_000;

/** Those that are not there, that are on though their time to stop is past, or off though a run waits for them. */
function useWrongMachines() {
  const agents = useMachines();
  const waiting = useAwaited();
  const awaited = new Set(waiting.data?.items);
  const isOverdue = ({ status, stopAt }: Agent) =>
    status === 'online' && stopAt !== null && Date.now() - Date.parse(stopAt) > overdueMs;
  const all = agents.data?.items ?? [];
  const offline = all.filter(({ status }) => status === 'offline');
  const machines = all.flatMap((agent) => {
    if (isOverdue(agent)) return [{ ...agent, says: 'It should have been stopped by now.' }];
    // One that is offline stands here already.
    const isOff = awaited.has(agent.id) && agent.status !== 'offline';
    return isOff ? [{ ...agent, says: 'A run waits for it, and does not wake it: start it by hand.' }] : [];
  });
  return { queries: [agents, waiting], offline, machines };
}

const near = 0.8;

function nearLimits({ runs, spendUsd, limits, canLaunchRuns }: Usage): string[] {
  const { monthlyRunLimit, monthlySpendLimitUsd } = limits;
  if (!canLaunchRuns) return ['No run can be launched: a limit of this month is reached.'];
  return [
    ...(monthlyRunLimit !== null && runs >= near * monthlyRunLimit
      ? [`${formatCount(runs)} of this month’s ${formatCount(monthlyRunLimit)} runs are used.`]
      : []),
    ...(monthlySpendLimitUsd !== null && spendUsd >= near * monthlySpendLimitUsd
      ? [`${formatMoney(spendUsd)} of this month’s ${formatMoney(monthlySpendLimitUsd)} are spent.`]
      : []),
  ];
}
