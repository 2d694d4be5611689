import type { AgentEntity, OrganizationSettingsEntity } from '@muster/database';
import { cleanNameForSentence } from '@muster/platform';
import { chooseIdleLimit, type IdleChoice } from './choose-idle-limit';
import { runEnded } from '../activity/activity';
import { defaultBootMs, computePrewakeLeadMs } from '../life/boot-time';
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
  /** The machine's last idle times in the form of `addIdleGap`; null if they were not read. */
  gaps: number[] | null;
  /** The time since which an offline agent could have reported and has not; null for other agents. */
  silentSince: Date | null;
  /** Whether the agent has started a job or may have started one. */
  running: boolean;
  /** Whether a job waits for the agent. */
  queued: boolean;
  /** Whether a command other than a run has no result yet. */
  commands: boolean;
  /** Whether the agent has an open wake. */
  waking: boolean;
  /** The next scheduled run on the agent. */
  expected: Omit<ExpectedRun, 'agentId'> | null;
}

export type IdleDecision =
  | { action: 'stop'; stopAt: Date; reason: string }
  /** The agent is idle, but its idle limit has not passed yet. */
  | { action: 'wait'; stopAt: Date; reason: string; expects?: string }
  | { action: 'stay'; stopAt: null; reason: string };

/** Minimum milliseconds between a failed idle stop and the next attempt. */
const restMs = 60_000;

/**
 * Decides whether the machine can be stopped now, and if not, when. Activity only postpones the stop and never makes it
 * earlier. The machine of an offline agent is stopped too, because it may still be running. A queued job does not keep
 * an offline agent's machine on, because only a new start can help the job.
 */
export function decideIdleStop(facts: IdleFacts, now: Date): IdleDecision {
  const reasonToKeepOn = findReasonToStayOn(facts);
  if (reasonToKeepOn) return { action: 'stay', stopAt: null, reason: reasonToKeepOn };
  const choice = chooseAdaptiveLimit(facts);
  const dueAt = computeIdleDeadline(facts, choice);
  const expects = choice ? describeAdaptiveLimit(facts, choice) : undefined;
  const heldUntil = findPostponedStop(facts, dueAt > now ? dueAt : now);
  if (heldUntil) {
    const { name, at } = facts.expected!;
    return {
      action: 'wait',
      stopAt: heldUntil,
      reason: `the run of ${cleanNameForSentence(name)} is expected at ${at.toISOString()}`,
      expects,
    };
  }
  const stopAt = dueAt;
  if (stopAt > now)
    return { action: 'wait', stopAt, reason: `it is stopped at ${stopAt.toISOString()} if it stays idle`, expects };
  const idleMs = now.getTime() - findIdleStart(facts).getTime();
  const silent = facts.status === 'offline' ? 'silent and idle' : 'idle';
  const isPast = choice !== null && choice.usualMs !== null && idleMs > choice.usualMs;
  const limit = expects
    ? `another start is cheaper than staying on: ${expects}${isPast ? ', but it has not started' : ''}`
    : `the limit is ${formatIdleLimit(facts)}`;
  return { action: 'stop', stopAt, reason: `${silent} for ${formatDuration(idleMs)}, ${limit}` };
}

function findReasonToStayOn(facts: IdleFacts): string | null {
  const { status } = facts;
  if (facts.provider === 'external') return 'its machine is external and cannot be stopped by the service';
  if (status === 'draining' || (status === 'online' && facts.drain)) return 'it is being drained';
  if (status !== 'online' && status !== 'offline') return `it is ${status}`;
  if (facts.running || (facts.queued && status === 'online')) return 'it has work';
  // A paused session also keeps the machine on, because its browser must be unchanged when a person answers. A paused
  // session ends after a day.
  if (facts.autopilotSessionId) return 'an autopilot session uses it';
  if (facts.commands) return 'a command is in progress';
  if (facts.waking) return 'it is being woken';
  if (facts.idleAutoStopExempt) return 'it is pinned';
  if (!facts.autoStopEnabled) return 'idle stop is off';
  if (facts.drain) return 'it is being drained';
  return null;
}

function findIdleStart({ status, lastActivityAt, statusSince, silentSince }: IdleFacts): Date {
  if (status !== 'offline') return lastActivityAt ?? statusSince;
  // An offline agent has the whole idle limit to report. The limit is counted once, even if the agent is woken
  // repeatedly without success.
  const silent = silentSince ?? statusSince;
  return lastActivityAt && lastActivityAt > silent ? lastActivityAt : silent;
}

/**
 * Returns the idle limit that the adaptive policy chooses for the current idle time. Returns null if the organization's
 * whole limit applies: under the fixed policy, or if the last activity was not the end of a run. In the second case a
 * person may be using the machine, which the idle times between runs do not show.
 */
function chooseAdaptiveLimit(facts: IdleFacts): IdleChoice | null {
  const { idleStopPolicy, idleStopMinutes, status, lastActivity, gaps, bootMs, expected } = facts;
  if (idleStopPolicy !== 'adaptive' || status !== 'online' || lastActivity !== runEnded) return null;
  const runInMs = expected ? expected.at.getTime() - findIdleStart(facts).getTime() : -1;
  return chooseIdleLimit({
    gaps: gaps ?? [],
    limitMs: idleStopMinutes * 60_000,
    bootMs: bootMs ?? defaultBootMs,
    runInMs: runInMs >= 0 ? runInMs : null,
  });
}

function describeAdaptiveLimit({ idleStopMinutes }: IdleFacts, { usualMs, learnedFrom }: IdleChoice): string {
  if (learnedFrom === 0) return 'there are no earlier idle times to judge by yet';
  const from = learnedFrom === 1 ? 'its last idle time' : `its last ${learnedFrom} idle times`;
  if (usualMs === null) return `judging by ${from}, its next run starts after more than ${idleStopMinutes} min`;
  return `judging by ${from}, its next run starts within ${formatDuration(usualMs)}`;
}

function computeIdleDeadline(facts: IdleFacts, choice: IdleChoice | null): Date {
  const limitMs = facts.idleStopMinutes * 60_000;
  const dueAt = findIdleStart(facts).getTime() + Math.min(limitMs, choice?.limitMs ?? limitMs);
  const { idleStopFailedAt } = facts;
  if (!idleStopFailedAt) return new Date(dueAt);
  return new Date(Math.max(dueAt, idleStopFailedAt.getTime() + Math.max(limitMs, restMs)));
}

/** Milliseconds after its scheduled time for which a run that has not been launched yet keeps the machine on. */
const lateRunMs = 60_000;

/**
 * Returns the time until which the machine stays on for a scheduled run, if the machine would have to be woken for this
 * run right after the stop. Null if there is no such run.
 */
function findPostponedStop({ status, prewake, expected, bootMs }: IdleFacts, stopAt: Date): Date | null {
  if (!prewake || !expected || status !== 'online') return null;
  const until = expected.at.getTime() + lateRunMs;
  const isNear = expected.at.getTime() - stopAt.getTime() <= computePrewakeLeadMs(bootMs);
  return isNear && until > stopAt.getTime() ? new Date(until) : null;
}

function formatDuration(ms: number): string {
  if (ms < 60_000) return `${Math.max(1, Math.round(ms / 1000))} s`;
  return `${Math.round(ms / 6000) / 10} min`;
}

function formatIdleLimit({ idleStopMinutes }: IdleFacts): string {
  return `${idleStopMinutes} min`;
}
