import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode } from 'react';
import { allOf } from '../../api/all-of';
import {
  type Agent,
  deadLettersList,
  type FailureCause,
  type Schedule,
  schedulesList,
  type Usage,
} from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { useMay } from '../../api/session';
import { counted, formatCount, formatMoney } from '../../format/format';
import { Time } from '../../format/time';
import { isNeverConnected } from '../../parts/agent-status';
import { Empty, Panel } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { Asking } from './asking';
import { useFailures, useMachines, useUsage, useWaiting } from './home-queries';

/** Problems that need action now: one line for each cause, with links. */
export function Attention() {
  const failures = useFailures();
  const usage = useUsage();
  const schedules = useQuery({
    queryKey: ['schedules', 'attention'],
    queryFn: ({ signal }) =>
      allOf(async (page) => {
        const { schedules: items, nextCursor } = await schedulesList({ query: page, signal });
        return { items, nextCursor };
      }),
    refetchInterval: 4 * pollMs,
  });
  const isAdmin = useMay('admin');
  const dead = useQuery({
    queryKey: ['dead-letters', 'home'],
    queryFn: ({ signal }) => deadLettersList({ query: { limit: 200 }, signal }),
    refetchInterval: 4 * pollMs,
    enabled: isAdmin,
  });
  const machines = useMachines();
  const waiting = useWaiting();
  const all = [failures, usage, schedules, machines, waiting, ...(isAdmin ? [dead] : [])];
  const isKnown = all.every(({ data }) => data);
  const awaited = new Set(
    waiting.data?.items.filter(({ reason }) => reason === 'agent_offline').map(({ agentId }) => agentId),
  );
  const deadCount = dead.data?.deadLetters.length ?? 0;
  const lines = [
    ...(usage.data ? nearLimits(usage.data) : []).map((text) => (
      <li key={text} className="py-2 font-medium text-warn">
        {text}
      </li>
    )),
    ...(failures.data?.causes ?? []).map((cause) => <Failures key={cause.cause} cause={cause} />),
    ...groupedBy(machines.data?.items ?? [], (agent) => problemOf(agent, awaited)).map(([says, agents]) => (
      <Machines key={says} says={says} agents={agents} />
    )),
    ...groupedBy(schedules.data?.items ?? [], skipReasonOf).map(([result, missing]) => (
      <Schedules key={result} result={result} schedules={missing} />
    )),
    deadCount > 0 && (
      <Line key="dead" mark={<StatusMark status="dead" />} beside="Their last attempt failed. You can send them again.">
        <Link to="/queues" className={linkClass}>
          {formatCount(deadCount)}
          {dead.data?.nextCursor && '+'} {deadCount === 1 ? 'dead letter' : 'dead letters'}
        </Link>
      </Line>
    ),
  ].filter(Boolean);
  return (
    <Panel title="Needs attention">
      <Asking queries={all} />
      {isKnown && lines.length === 0 && (
        <Empty title="Nothing needs your attention.">No run failed in the last 24 hours.</Empty>
      )}
      <ul className="flex flex-col divide-y divide-line">{lines}</ul>
      {failures.data?.causes.length !== 0 && (
        <Link to="/runs" search={{ status: 'failed', sort: '-finishedAt' }} className={linkClass}>
          All failed runs, latest first
        </Link>
      )}
    </Panel>
  );
}

const linkClass = 'text-accent underline';

function Line({ mark, beside, children }: { mark: ReactNode; beside: ReactNode; children: ReactNode }) {
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
function Failures({
  cause: { cause, message, errorCode, runs, agents, workflowName, firstAt, lastAt, lastJobId },
}: {
  cause: FailureCause;
}) {
  return (
    <Line
      mark={<StatusMark status="failed" />}
      beside={
        <>
          <Link to="/runs" search={{ cause, status: 'failed' }} className={linkClass}>
            {counted(runs, 'run')}
          </Link>{' '}
          of <bdi>{workflowName ?? 'several workflows'}</bdi>
          {agents > 1 && ` on ${counted(agents, 'agent')}`},{' '}
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
    </Line>
  );
}

const mostNamed = 3;

function Machines({ says, agents }: { says: string; agents: Agent[] }) {
  const { status } = agents[0]!;
  const look = agents.every(isNeverConnected) ? 'pending' : status;
  return (
    <Line mark={<StatusMark status={status} look={look} />} beside={says}>
      {agents.length > 1 && (
        <>
          <Link to="/agents" search={{ status }} className={linkClass}>
            {counted(agents.length, 'agent')}
          </Link>
          {': '}
        </>
      )}
      <Named things={agents} to="/agents/$id" />
    </Line>
  );
}

function Schedules({ result, schedules }: { result: string; schedules: Schedule[] }) {
  const last = schedules
    .map(({ lastRunAt }) => lastRunAt ?? '')
    .sort()
    .at(-1);
  return (
    <Line
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
            {counted(schedules.length, 'schedule')}
          </Link>
          {': '}
        </>
      )}
      <Named things={schedules} to="/schedules/$id" />
    </Line>
  );
}

function Named({ things, to }: { things: { id: string; name: string }[]; to: '/agents/$id' | '/schedules/$id' }) {
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

/** A stop takes some time. A machine that is still on this long after its stop time is reported. */
const overdueMs = 2 * 60_000;

/** Returns an agent's problem, such as offline, on after its stop time, or off while a run waits; null if none. */
function problemOf(agent: Agent, awaited: Set<string>): string | null {
  const { id, status, stopAt, reason } = agent;
  if (isNeverConnected(agent)) return 'Never connected: install a worker on the machine.';
  if (status === 'offline') return `${reason.replace(/ for \d.*$/, '').replace(/^./, (first) => first.toUpperCase())}.`;
  if (status === 'online' && stopAt !== null && Date.now() - Date.parse(stopAt) > overdueMs) {
    return 'Should have stopped by now. Stop it by hand.';
  }
  return awaited.has(id) ? 'A run is waiting but does not start the machine. Start it by hand.' : null;
}

function skipReasonOf({ enabled, lastResult }: Schedule): string | null {
  return enabled && lastResult && lastResult !== 'launched' ? lastResult : null;
}

/** Groups the items by key, and leaves out items whose key is null. */
function groupedBy<T>(items: readonly T[], keyOf: (item: T) => string | null): [key: string, items: T[]][] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    if (key !== null) groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups];
}

const near = 0.8;

function nearLimits({ runs, spendUsd, limits, canLaunchRuns }: Usage): string[] {
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
