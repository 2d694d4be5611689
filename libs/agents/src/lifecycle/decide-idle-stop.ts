import type { AgentEntity, OrganizationSettingsEntity } from '@muster/database';
import { prewakeLeadMs } from './boot-time';
import type { ExpectedRun } from './expected-run';

export interface IdleFacts
  extends
    Pick<
      AgentEntity,
      | 'status'
      | 'statusSince'
      | 'provider'
      | 'lastActivityAt'
      | 'idleAutoStopExempt'
      | 'drain'
      | 'idleStopFailedAt'
      | 'bootMs'
    >,
    Pick<OrganizationSettingsEntity, 'autoStopEnabled' | 'idleStopMinutes' | 'prewake'> {
  /** Of one that is offline: since when it could have reported, and nobody has heard of it. */
  silentSince: Date | null;
  /** It has begun a job, or may have. */
  running: boolean;
  /** A job waits for it. */
  queued: boolean;
  /** A command other than a run has no result yet. */
  commands: boolean;
  /** Somebody is waking it. */
  waking: boolean;
  /** What is known to come next on it. */
  expected: Omit<ExpectedRun, 'agentId'> | null;
}

export type IdleDecision =
  | { action: 'stop'; stopAt: Date; reason: string }
  /** It is idle, but not for long enough. */
  | { action: 'wait'; stopAt: Date; reason: string }
  | { action: 'stay'; stopAt: null; reason: string };

/** The least time between an idle stop that failed and the next one. */
const restMs = 60_000;

/**
 * May this machine be stopped, and if not yet, when? Activity moves the end away and nothing brings it nearer. A machine
 * that does not report is stopped as well: it may be running all the same. A job that waits does not keep that one on,
 * because only a new start can help it.
 */
export function decideIdleStop(facts: IdleFacts, now: Date): IdleDecision {
  const kept = reasonToStay(facts);
  if (kept) return { action: 'stay', stopAt: null, reason: kept };
  const dueAt = idleDeadline(facts);
  const heldUntil = heldForRun(facts, dueAt > now ? dueAt : now);
  if (heldUntil) {
    const { name, at } = facts.expected!;
    return { action: 'wait', stopAt: heldUntil, reason: `the run of ${name} comes at ${at.toISOString()}` };
  }
  const stopAt = dueAt;
  if (stopAt > now) return { action: 'wait', stopAt, reason: `idle stop comes at ${stopAt.toISOString()}` };
  const idleMs = now.getTime() - idleSince(facts).getTime();
  const silent = facts.status === 'offline' ? 'not heard of and idle' : 'idle';
  return { action: 'stop', stopAt, reason: `${silent} for ${minutesOf(idleMs)}, the limit is ${limitOf(facts)}` };
}

function reasonToStay(facts: IdleFacts): string | null {
  const { status } = facts;
  if (facts.provider === 'external') return 'its machine is external and has its switch elsewhere';
  if (status === 'draining' || (status === 'online' && facts.drain)) return 'it is being drained';
  if (status !== 'online' && status !== 'offline') return `it is ${status}`;
  if (facts.running || (facts.queued && status === 'online')) return 'it has work';
  if (facts.commands) return 'a command is under way';
  if (facts.waking) return 'it is being woken';
  if (facts.idleAutoStopExempt) return 'it is pinned';
  if (!facts.autoStopEnabled) return 'idle stop is off';
  if (facts.drain) return 'it is being drained';
  return null;
}

function idleSince({ status, lastActivityAt, statusSince, silentSince }: IdleFacts): Date {
  if (status !== 'offline') return lastActivityAt ?? statusSince;
  // It has the whole limit to report, but only once, however often it is woken in vain.
  const silent = silentSince ?? statusSince;
  return lastActivityAt && lastActivityAt > silent ? lastActivityAt : silent;
}

function idleDeadline(facts: IdleFacts): Date {
  const limitMs = facts.idleStopMinutes * 60_000;
  const dueAt = idleSince(facts).getTime() + limitMs;
  const { idleStopFailedAt } = facts;
  if (!idleStopFailedAt) return new Date(dueAt);
  return new Date(Math.max(dueAt, idleStopFailedAt.getTime() + Math.max(limitMs, restMs)));
}

/** So long after its time a run that nobody launched is no reason any more. */
const lateRunMs = 60_000;

/** Until when it is kept for a run that it would be woken for again at once; null where there is none. */
function heldForRun({ status, prewake, expected, bootMs }: IdleFacts, stopAt: Date): Date | null {
  if (!prewake || !expected || status !== 'online') return null;
  const until = expected.at.getTime() + lateRunMs;
  const isNear = expected.at.getTime() - stopAt.getTime() <= prewakeLeadMs(bootMs);
  return isNear && until > stopAt.getTime() ? new Date(until) : null;
}

function minutesOf(ms: number): string {
  return `${Math.round(ms / 6000) / 10} min`;
}

function limitOf({ idleStopMinutes }: IdleFacts): string {
  return `${idleStopMinutes} min`;
}
