import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode } from 'react';
import { readAllItems } from '../../api/read-all-items';
import {
  type Agent,
  deadLettersList,
  type FailureCause,
  type Schedule,
  schedulesList,
  type Usage,
} from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { usePermission } from '../../api/session';
import { formatCountWithNoun, formatCount, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { isNeverConnected } from '../../parts/agent-status';
import { EmptyNote, Panel } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { QueryPlaceholder } from './asking';
import { useRecentFailures, useMachines, useUsage, useWaitingRuns } from './home-queries';

/** Problems that need action now: one line for each cause, with links. */
export function AttentionList() {
  const failures = useRecentFailures();
  const usage = useUsage();
  const seesSchedules = usePermission('schedules.read');
  const schedules = useQuery({
    enabled: seesSchedules,
    queryKey: ['schedules', 'attention'],
    queryFn: ({ signal }) =>
      readAllItems(async (page) => {
        const { schedules: items, nextCursor } = await schedulesList({ query: page, signal });
        return { items, nextCursor };
      }),
    refetchInterval: 4 * pollMs,
  });
  const mayReplay = usePermission('settings.admin');
  const dead = useQuery({
    queryKey: ['dead-letters', 'home'],
    queryFn: ({ signal }) => deadLettersList({ query: { limit: 200 }, signal }),
    refetchInterval: 4 * pollMs,
    enabled: mayReplay,
  });
  const machines = useMachines();
  const waiting = useWaitingRuns();
  const seesRuns = usePermission('runs.read');
  const all = [
    ...(seesRuns ? [failures, waiting] : []),
    ...(usePermission('costs.read') ? [usage] : []),
    ...(seesSchedules ? [schedules] : []),
    ...(usePermission('agents.read') ? [machines] : []),
    ...(mayReplay ? [dead] : []),
  ];
  const isKnown = all.every(({ data }) => data);
  const awaited = new Set(
    waiting.data?.items.flatMap(({ reason, agentId }) => (reason === 'agent_offline' && agentId ? [agentId] : [])),
  );
  const deadCount = dead.data?.deadLetters.length ?? 0;
  const lines = [
    ...(usage.data ? listNearLimits(usage.data) : []).map((text) => (
      <li key={text} className="py-2 font-medium text-warn">
        {text}
      </li>
    )),
    ...(failures.data?.causes ?? []).map((cause) => <FailureLines key={cause.cause} cause={cause} />),
    ...groupBy(machines.data?.items ?? [], (agent) => findAgentProblem(agent, awaited)).map(([says, agents]) => (
      <MachineProblems key={says} says={says} agents={agents} />
    )),
    ...groupBy(schedules.data?.items ?? [], getSkipReason).map(([result, missing]) => (
      <ScheduleProblems key={result} result={result} schedules={missing} />
    )),
    deadCount > 0 && (
      <AttentionLine
        key="dead"
        mark={<StatusMark status="dead" />}
        beside="The service could not process these messages. You can send them again."
      >
        <Link to="/queues" className={linkClass}>
          {formatCount(deadCount)}
          {dead.data?.nextCursor && '+'} {deadCount === 1 ? 'dead letter' : 'dead letters'}
        </Link>
      </AttentionLine>
    ),
  ].filter(Boolean);
  return (
    <Panel title="Needs attention">
      <QueryPlaceholder queries={all} />
      {isKnown && lines.length === 0 && (
        <EmptyNote title="Nothing needs your attention.">No run failed in the last 24 hours.</EmptyNote>
      )}
      <ul className="flex flex-col divide-y divide-line">{lines}</ul>
      {seesRuns && failures.data?.causes.length !== 0 && (
        <Link to="/runs" search={{ status: 'failed', sort: '-finishedAt' }} className={linkClass}>
          All failed runs, latest first
        </Link>
      )}
    </Panel>
  );
}

const linkClass = 'text-accent underline';

function AttentionLine({ mark, beside, children }: { mark: ReactNode; beside: ReactNode; children: ReactNode }) {
  return (
    <li className="flex items-baseline gap-x-3 py-2">
      <span className="w-19 shrink-0">{mark}</span>
      <div className="min-w-0 grow [overflow-wrap:anywhere]">
        <p>{children}</p>
        <p className="text-xs text-dim">{beside}</p>
      </div>
    </li>
  );
}

/** Runs that failed with one cause. The message links to the latest run, the number to all of them. */
function FailureLines({
  cause: { cause, message, errorCode, runs, agents, workflowName, firstAt, lastAt, lastJobId },
}: {
  cause: FailureCause;
}) {
  return (
    <AttentionLine
      mark={<StatusMark status="failed" />}
      beside={
        <>
          <Link to="/runs" search={{ cause, status: 'failed' }} className={linkClass}>
            {formatCountWithNoun(runs, 'run')}
          </Link>{' '}
          of <bdi>{workflowName ?? 'several workflows'}</bdi>
          {agents > 1 && ` on ${formatCountWithNoun(agents, 'agent')}`},{' '}
          {runs === 1 ? (
            <Time at={lastAt} relative />
          ) : (
            <>
              since <Time at={firstAt} short />, latest <Time at={lastAt} relative />
            </>
          )}
        </>
      }
    >
      <Link to="/runs/$id" params={{ id: lastJobId }} className="line-clamp-2 font-medium hover:underline">
        <bdi>{message || errorCode || 'The run failed without a message.'}</bdi>
      </Link>
    </AttentionLine>
  );
}

const mostNamed = 3;

function MachineProblems({ says, agents }: { says: string; agents: Agent[] }) {
  const { status } = agents[0]!;
  const look = agents.every(isNeverConnected) ? 'pending' : status;
  return (
    <AttentionLine mark={<StatusMark status={status} look={look} />} beside={says}>
      {agents.length > 1 && (
        <>
          <Link to="/agents" search={{ status }} className={linkClass}>
            {formatCountWithNoun(agents.length, 'agent')}
          </Link>
          {': '}
        </>
      )}
      <NamedLinks things={agents} to="/agents/$id" />
    </AttentionLine>
  );
}

function ScheduleProblems({ result, schedules }: { result: string; schedules: Schedule[] }) {
  const last = schedules
    .map(({ lastRunAt }) => lastRunAt ?? '')
    .sort()
    .at(-1);
  return (
    <AttentionLine
      mark={<StatusMark status={result} />}
      beside={
        <>
          The last scheduled run was not launched, <Time at={last || null} relative />
        </>
      }
    >
      {schedules.length > 1 && (
        <>
          <Link to="/schedules" className={linkClass}>
            {formatCountWithNoun(schedules.length, 'schedule')}
          </Link>
          {': '}
        </>
      )}
      <NamedLinks things={schedules} to="/schedules/$id" />
    </AttentionLine>
  );
}

function NamedLinks({ things, to }: { things: { id: string; name: string }[]; to: '/agents/$id' | '/schedules/$id' }) {
  return (
    <>
      {things.slice(0, mostNamed).map(({ id, name }, at) => (
        <span key={id}>
          {at > 0 && ', '}
          <Link to={to} params={{ id }} className={linkClass}>
            <bdi>{name}</bdi>
          </Link>
        </span>
      ))}
      {things.length > mostNamed && ` and ${formatCount(things.length - mostNamed)} more`}
    </>
  );
}

/** Time for which a machine may still be on after its stop time, in milliseconds, because a stop takes time. */
const overdueMs = 2 * 60_000;

/** Returns an agent's problem, such as offline, on after its stop time, or off while a run waits; null if none. */
function findAgentProblem(agent: Agent, awaited: Set<string>): string | null {
  const { id, status, stopAt, reason } = agent;
  if (isNeverConnected(agent)) return 'Never connected: install a worker on the machine.';
  if (status === 'offline') return `${reason.replace(/ for \d.*$/, '').replace(/^./, (first) => first.toUpperCase())}.`;
  if (status === 'online' && stopAt !== null && Date.now() - Date.parse(stopAt) > overdueMs) {
    return 'The machine should have stopped because it is idle. Stop it yourself.';
  }
  return awaited.has(id)
    ? 'A run is waiting, but machines are not started for runs. Start the machine yourself.'
    : null;
}

function getSkipReason({ enabled, lastResult }: Schedule): string | null {
  return enabled && lastResult && lastResult !== 'launched' ? lastResult : null;
}

/** Groups the items by the key that the callback returns. Items whose key is null are left out. */
function groupBy<T>(items: readonly T[], keyOf: (item: T) => string | null): [key: string, items: T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key !== null) groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups];
}

const near = 0.8;

function listNearLimits({ runs, spendUsd, limits, canLaunchRuns }: Usage): string[] {
  const { monthlyRunLimit, monthlySpendLimitUsd } = limits;
  if (!canLaunchRuns) return ['No run can be launched: a limit for this month is reached.'];
  return [
    ...(monthlyRunLimit !== null && runs >= near * monthlyRunLimit
      ? [`${formatCount(runs)} of this month’s ${formatCount(monthlyRunLimit)} runs are used.`]
      : []),
    ...(monthlySpendLimitUsd !== null && spendUsd >= near * monthlySpendLimitUsd
      ? [`${formatMoney(spendUsd)} of this month’s ${formatMoney(monthlySpendLimitUsd)} are spent.`]
      : []),
  ];
}
