import type { AgentEntity, OrganizationSettingsEntity } from '@muster/database';
import { inSentence } from '@muster/platform';
import { chooseIdleLimit, type IdleChoice } from '../habits/choose-idle-limit';
import { defaultBootMs, prewakeLeadMs } from './boot-time';
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
      | 'lastActivity'
      | 'autopilotSessionId'
    >,
    Pick<OrganizationSettingsEntity, 'autoStopEnabled' | 'idleStopMinutes' | 'idleStopPolicy' | 'prewake'> {
  /** Its last idle times, as keptGaps writes them; null where none is known. */
  gaps: number[] | null;
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
  | { action: 'wait'; stopAt: Date; reason: string; expects?: string }
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
  const choice = choose(facts);
  const dueAt = idleDeadline(facts, choice);
  const expects = choice ? spokenChoice(facts, choice) : undefined;
  const heldUntil = heldForRun(facts, dueAt > now ? dueAt : now);
  if (heldUntil) {
    const { name, at } = facts.expected!;
    return {
      action: 'wait',
      stopAt: heldUntil,
      reason: `the run of ${inSentence(name)} comes at ${at.toISOString()}`,
      expects,
    };
  }
  const stopAt = dueAt;
  if (stopAt > now) return { action: 'wait', stopAt, reason: `idle stop comes at ${stopAt.toISOString()}`, expects };
  const idleMs = now.getTime() - idleSince(facts).getTime();
  const silent = facts.status === 'offline' ? 'silent and idle' : 'idle';
  const isPast = choice !== null && choice.usualMs !== null && idleMs > choice.usualMs;
  const limit = expects
    ? `another start is cheaper: ${expects}${isPast ? ', and has not come' : ''}`
    : `the limit is ${limitOf(facts)}`;
  return { action: 'stop', stopAt, reason: `${silent} for ${spokenTime(idleMs)}, ${limit}` };
}

function reasonToStay(facts: IdleFacts): string | null {
  const { status } = facts;
  if (facts.provider === 'external') return 'its machine is external and cannot be stopped by the service';
  if (status === 'draining' || (status === 'online' && facts.drain)) return 'it is being drained';
  if (status !== 'online' && status !== 'offline') return `it is ${status}`;
  if (facts.running || (facts.queued && status === 'online')) return 'it has work';
  // A paused one too: its browser is to be as it was when somebody answers. It ends by itself after a day.
  if (facts.autopilotSessionId) return 'an autopilot session uses it';
  if (facts.commands) return 'a command is in progress';
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

/** What an agent's last activity is called when it was the end of a run. */
export const runEnded = 'a run ended';

/**
 * What adaptive makes of an idle time; null where the whole limit holds: with fixed, and where it was not a run that
 * ended. Somebody may be at work on the machine, of which its runs tell nothing.
 */
function choose(facts: IdleFacts): IdleChoice | null {
  const { idleStopPolicy, idleStopMinutes, status, lastActivity, gaps, bootMs, expected } = facts;
  if (idleStopPolicy !== 'adaptive' || status !== 'online' || lastActivity !== runEnded) return null;
  const runInMs = expected ? expected.at.getTime() - idleSince(facts).getTime() : -1;
  return chooseIdleLimit({
    gaps: gaps ?? [],
    limitMs: idleStopMinutes * 60_000,
    bootMs: bootMs ?? defaultBootMs,
    runInMs: runInMs >= 0 ? runInMs : null,
  });
}

function spokenChoice({ idleStopMinutes }: IdleFacts, { usualMs, learnedFrom }: IdleChoice): string {
  if (learnedFrom === 0) return 'nothing is known yet of when its runs come';
  const from = learnedFrom === 1 ? 'its last idle time' : `its last ${learnedFrom} idle times`;
  if (usualMs === null) return `by ${from} its next run takes longer than ${idleStopMinutes} min`;
  return `by ${from} its next run comes within ${spokenTime(usualMs)}`;
}

function idleDeadline(facts: IdleFacts, choice: IdleChoice | null): Date {
  const limitMs = facts.idleStopMinutes * 60_000;
  const dueAt = idleSince(facts).getTime() + Math.min(limitMs, choice?.limitMs ?? limitMs);
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

function spokenTime(ms: number): string {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return `${Math.round(ms / 6000) / 10} min`;
}

function limitOf({ idleStopMinutes }: IdleFacts): string {
  return `${idleStopMinutes} min`;
}
