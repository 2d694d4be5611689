import { decideWorkAnswer } from '@muster/machines';
import type { AgentProvider, AgentStatus, MisfirePolicy, SkipReason } from '@muster/contracts';
import type { CronRule } from '../cron/cron-rule';
import { findNextRun, listRunsBetween } from '../cron/find-next-run';

/** Delay in ms up to which a scheduled time is late and still runs; after that it is missed. */
const lateMs = 60_000;
/** Maximum number of scheduled times in one decision. A longer outage takes several decisions. */
const maxTimes = 1000;
const maxMadeUp = 100;

export interface TickFacts {
  enabled: boolean;
  nextRunAt: Date | null;
  rule: CronRule;
  timezone: string;
  misfirePolicy: MisfirePolicy;
  /** Scheduled times up to this one are dropped under every policy, because the service was restored from a backup. */
  missedUntil?: Date | null;
}

export type TickDecision =
  | { due: false; reason: Extract<SkipReason, 'not_due' | 'disabled'> }
  | {
      due: true;
      /** Past scheduled times that the policy drops, oldest first. */
      dropped: Date[];
      /** Scheduled time to run now, if the guards allow it. */
      run: Date | null;
      /** First scheduled time that this decision does not cover; null if there is none. */
      next: Date | null;
    };

/**
 * Decides about a schedule's times up to now, one run at a time. The caller calls this function again from `next` until
 * nothing is due, so each run is launched and recorded separately.
 */
export function decideScheduleTick(facts: TickFacts, now: Date): TickDecision {
  const { enabled, nextRunAt, rule, timezone, misfirePolicy, missedUntil } = facts;
  if (!enabled) return { due: false, reason: 'disabled' };
  if (!nextRunAt || nextRunAt > now) return { due: false, reason: 'not_due' };
  const open = listRunsBetween(rule, timezone, {
    after: new Date(nextRunAt.getTime() - 1),
    until: now,
    limit: maxTimes,
  });
  const findRunAfter = (time: Date) => findNextRun(rule, timezone, time)?.at ?? null;
  // The rule has no time up to now, although `nextRunAt` has passed: the cron rule or the clock changes of the timezone
  // were changed after `nextRunAt` was computed.
  if (open.length === 0) return { due: true, dropped: [], run: null, next: findRunAfter(now) };
  // The list is full, so the older times cannot be among the newest ones that may run. Drop them; the next decision
  // starts with the rest.
  if (open.length === maxTimes) {
    const droppedCount = open.length - maxMadeUp;
    return { due: true, dropped: open.slice(0, droppedCount), run: null, next: open[droppedCount]! };
  }
  const lost = missedUntil ? open.filter((time) => time <= missedUntil).length : 0;
  if (lost > 0)
    return { due: true, dropped: open.slice(0, lost), run: null, next: open[lost] ?? findRunAfter(open.at(-1)!) };
  const missed = open.filter((time) => now.getTime() - time.getTime() > lateMs).length;
  const first = chooseFirstToRun(misfirePolicy, { open: open.length, missed });
  const run = open[first] ?? null;
  return { due: true, dropped: open.slice(0, first), run, next: findRunAfter(run ?? open.at(-1)!) };
}

/** Returns the index of the first open time that runs; the times before it are dropped. */
function chooseFirstToRun(policy: MisfirePolicy, { open, missed }: { open: number; missed: number }): number {
  if (missed === 0) return 0;
  switch (policy) {
    case 'skip':
      return missed;
    case 'once':
      return missed - 1;
    case 'all':
      return Math.max(0, open - maxMadeUp);
  }
}

export interface GuardFacts {
  concurrencyLimit: number | null;
  /** Runs of the schedule that are queued or running. */
  openRuns: number;
  idempotencyWindowMinutes: number | null;
  lastLaunchedAt: Date | null;
  gate: { canLaunchRuns: boolean; reason: string | null };
  agent: { status: AgentStatus; provider: AgentProvider; drain: 'finish' | 'now' | null } | null;
  /** Whether an agent fits the schedule's target; null or absent if the schedule names its agent. */
  targetFits?: boolean | null;
  autoWake: boolean;
  missingSecrets: string[];
  /** Whether a user requested this run. Its machine is then started even if auto-wake is off. */
  force: boolean;
}

export type GuardDecision =
  { launch: true; wake: boolean } | { launch: false; reason: SkipReason; detail: string; wakeBlocked?: boolean };

/**
 * Decides whether the schedule may launch a run now. The guards are those of the interface, section 4.4, in the same
 * order.
 */
export function decideScheduledRun(facts: GuardFacts, now: Date): GuardDecision {
  const { concurrencyLimit, openRuns, idempotencyWindowMinutes, lastLaunchedAt, gate, missingSecrets } = facts;
  if (concurrencyLimit !== null && openRuns >= concurrencyLimit) {
    return createSkipDecision('concurrency_limit', `${openRuns} of ${concurrencyLimit} runs are queued or running`);
  }
  if (idempotencyWindowMinutes && lastLaunchedAt) {
    const ageMs = now.getTime() - lastLaunchedAt.getTime();
    if (ageMs < idempotencyWindowMinutes * 60_000) {
      const launchedAt = lastLaunchedAt.toISOString();
      return createSkipDecision(
        'idempotency_window',
        `a run was launched at ${launchedAt}, within the window of ${idempotencyWindowMinutes} minutes`,
      );
    }
  }
  if (!gate.canLaunchRuns)
    return createSkipDecision('billing_gate', gate.reason ?? 'the organization cannot launch runs');
  const ready = decideByAgentState(facts);
  if (!ready.launch) return ready;
  if (missingSecrets.length)
    return createSkipDecision('secret_missing', `the vault has no secret ${missingSecrets.join(', ')}`);
  return ready;
}

/** Decides whether the agent can execute a run, now or after it is woken. */
function decideByAgentState({ agent, targetFits, autoWake, force }: GuardFacts): GuardDecision {
  if (targetFits === false)
    return createSkipDecision('no_agent_fits', 'no agent has all labels of the target any more');
  // The dispatcher places the run, and wakes an agent if this is necessary and auto-wake is on.
  if (targetFits) return { launch: true, wake: force };
  const work = agent && decideWorkAnswer({ ...agent, autoWake });
  if (!work || work.takes === 'never') return createSkipDecision('agent_not_ready', 'the agent was terminated');
  switch (work.takes) {
    case 'after_drain':
      return createSkipDecision('agent_not_ready', 'the agent is being drained');
    case 'now':
    case 'after_boot':
      return { launch: true, wake: false };
    case 'after_wake':
      if (work.by === 'owner') {
        return createSkipDecision('agent_not_ready', `the agent is ${agent.status} and cannot be started from here`);
      }
      if (work.by === 'itself' || force) return { launch: true, wake: force };
      return {
        launch: false,
        reason: 'agent_not_ready',
        detail: `the agent is ${agent.status} and the setting vmAutoWakeOnJob is off; start it manually`,
        wakeBlocked: true,
      };
  }
}

function createSkipDecision(reason: SkipReason, detail: string): Extract<GuardDecision, { launch: false }> {
  return { launch: false, reason, detail };
}
