import { mayTakeWork } from '@muster/agents';
import type { AgentProvider, AgentStatus, MisfirePolicy, SkipReason } from '@muster/contracts';
import type { CronRule } from '../cron/cron-rule';
import { nextRun, runsBetween } from '../cron/next-run';

/** A run that comes no later than this after its time is late; after that it was missed. */
const lateMs = 60_000;
/** How many nominal times one decision looks at. A longer outage is settled in several. */
const sightOf = 1000;
const mostMadeUp = 100;

export interface TickFacts {
  enabled: boolean;
  nextRunAt: Date | null;
  rule: CronRule;
  timezone: string;
  misfirePolicy: MisfirePolicy;
  /** What was due up to this moment is missed, whatever the policy says: the service was restored from a backup. */
  missedUntil?: Date | null;
}

export type TickDecision =
  | { due: false; reason: Extract<SkipReason, 'not_due' | 'disabled'> }
  | {
      due: true;
      /** Nominal times that are over and that the policy drops, oldest first. */
      dropped: Date[];
      /** The one to run now, if the guards let it. */
      run: Date | null;
      /** The first nominal time that is not settled by this: null when there is none ever. */
      next: Date | null;
    };

/**
 * What is to become of a schedule's nominal times up to now, one run at a time: whoever asks again from `next` on gets
 * the rest. So each run is launched, and written down, by itself.
 */
export function decideTick(facts: TickFacts, now: Date): TickDecision {
  const { enabled, nextRunAt, rule, timezone, misfirePolicy, missedUntil } = facts;
  if (!enabled) return { due: false, reason: 'disabled' };
  if (!nextRunAt || nextRunAt > now) return { due: false, reason: 'not_due' };
  const open = runsBetween(rule, timezone, { after: new Date(nextRunAt.getTime() - 1), until: now, limit: sightOf });
  const after = (time: Date) => nextRun(rule, timezone, time)?.at ?? null;
  // Its rule or the zone's own rules changed since the time was computed.
  if (open.length === 0) return { due: true, dropped: [], run: null, next: after(now) };
  // With more than one look can hold, none of the older ones can be the newest: they go, and the rest is next.
  if (open.length === sightOf) {
    const kept = open.length - mostMadeUp;
    return { due: true, dropped: open.slice(0, kept), run: null, next: open[kept]! };
  }
  const lost = missedUntil ? open.filter((time) => time <= missedUntil).length : 0;
  if (lost > 0) return { due: true, dropped: open.slice(0, lost), run: null, next: open[lost] ?? after(open.at(-1)!) };
  const missed = open.filter((time) => now.getTime() - time.getTime() > lateMs).length;
  const first = firstToRun(misfirePolicy, { open: open.length, missed });
  const run = open[first] ?? null;
  return { due: true, dropped: open.slice(0, first), run, next: after(run ?? open.at(-1)!) };
}

/** The place of the first of the open times that runs; what comes before it is dropped. */
function firstToRun(policy: MisfirePolicy, { open, missed }: { open: number; missed: number }): number {
  if (missed === 0) return 0;
  switch (policy) {
    case 'skip':
      return missed;
    case 'once':
      return missed - 1;
    case 'all':
      return Math.max(0, open - mostMadeUp);
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
  autoWake: boolean;
  missingSecrets: string[];
  /** Somebody asks for this very run: its machine is started even where nothing starts one by itself. */
  force: boolean;
}

export type GuardDecision =
  { launch: true; wake: boolean } | { launch: false; reason: SkipReason; detail: string; wakeBlocked?: boolean };

/** May the schedule launch a run now? The guards of the interface, 4.4, in their order. */
export function decideRun(facts: GuardFacts, now: Date): GuardDecision {
  const { concurrencyLimit, openRuns, idempotencyWindowMinutes, lastLaunchedAt, gate, missingSecrets } = facts;
  if (concurrencyLimit !== null && openRuns >= concurrencyLimit) {
    return skip('concurrency_limit', `${openRuns} of ${concurrencyLimit} runs are queued or running`);
  }
  if (idempotencyWindowMinutes && lastLaunchedAt) {
    const ageMs = now.getTime() - lastLaunchedAt.getTime();
    if (ageMs < idempotencyWindowMinutes * 60_000) {
      return skip(
        'idempotency_window',
        `a run was launched at ${lastLaunchedAt.toISOString()}, within ${idempotencyWindowMinutes} minutes`,
      );
    }
  }
  if (!gate.canLaunchRuns) return skip('billing_gate', gate.reason ?? 'the billing gate is closed');
  const ready = decideAgent(facts);
  if (!ready.launch) return ready;
  if (missingSecrets.length) return skip('secret_missing', `the vault has no secret ${missingSecrets.join(', ')}`);
  return ready;
}

/** Can its agent take a run, now or once it is awake? */
function decideAgent({ agent, autoWake, force }: GuardFacts): GuardDecision {
  const work = agent && mayTakeWork({ ...agent, autoWake });
  if (!work || work.takes === 'never') return skip('agent_not_ready', 'its agent was terminated');
  switch (work.takes) {
    case 'after_drain':
      return skip('agent_not_ready', 'its agent is being drained');
    case 'now':
    case 'after_boot':
      return { launch: true, wake: false };
    case 'after_wake':
      if (work.by === 'owner') {
        return skip('agent_not_ready', `its agent is ${agent.status} and cannot be started from here`);
      }
      if (work.by === 'itself' || force) return { launch: true, wake: force };
      return {
        launch: false,
        reason: 'agent_not_ready',
        detail: `its agent is ${agent.status} and auto-wake is off; start it by hand`,
        wakeBlocked: true,
      };
  }
}

function skip(reason: SkipReason, detail: string): Extract<GuardDecision, { launch: false }> {
  return { launch: false, reason, detail };
}
