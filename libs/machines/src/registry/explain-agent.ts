import { type AgentStatus, divideRoundingHalfEven } from '@muster/contracts';
import { cleanNameForSentence } from '@muster/platform';
import { isOffStatus, isOnStatus } from '../life/agent-life';
import { computePrewakeLeadMs } from '../life/boot-time';
import { decideIdleStop, type IdleDecision, type IdleFacts } from '../idle/decide-idle-stop';
import type { ExpectedRun } from '../idle/expected-run';
import type { AgentRow } from './agent-row';

type Explained = Omit<IdleFacts, 'expected'> & Pick<AgentRow, 'statusReason' | 'onSince' | 'lastActivity' | 'lastSeen'>;

/**
 * Explains why the machine is on or off, in a sentence and in a few words: since when, what keeps it on, when idle stop
 * will stop it, and what it costs.
 */
export function explainAgent(
  agent: Explained & Pick<AgentRow, 'computeMicrosPerHour'>,
  expected: Omit<ExpectedRun, 'agentId'> | null,
  now: Date,
): { why: string; reason: string; stopAt: Date | null } {
  const { status, statusSince, statusReason } = agent;
  const decision = decideIdleStop({ ...agent, expected }, now);
  const { stopAt, reason } = decision;
  const expects = decision.action === 'wait' ? decision.expects : undefined;
  const since = `${statusLabels[status]} since ${statusSince.toISOString()}`;
  // The final full stop of a status reason is removed, because the reason is used within a sentence.
  const because = statusReason ? `: ${statusReason.replace(/\.$/, '')}` : '';
  const mayBeOn = isOnStatus(status) || (status === 'offline' && stopAt !== null);
  const next = !mayBeOn ? '' : stopAt ? describeIdleStop(stopAt, { now, expects }) : ` It stays on: ${reason}.`;
  return {
    why: `${since}${because}.${next}${mayBeOn ? describeLastActivity(agent) : ''}${describeExpectedRun(agent, expected, now)}${describeMachineCost(agent, now)}`,
    reason: summarizeStatusReason(agent, decision),
    stopAt,
  };
}

/** Returns the explanation in a few words and without times, for a list of agents. */
function summarizeStatusReason(
  { status, lastSeen, statusReason, provider, running }: Explained,
  decision: IdleDecision,
): string {
  if (lastSeen === null && status === 'offline') return 'never connected';
  // Only the part of the reason before the first comma, colon, semicolon or full stop is used, because the rest is
  // detail.
  if (!isOnStatus(status)) return (statusReason ?? '').split(/[,:;]|\. /, 1)[0]!.replace(/\.$/, '');
  if (running) return 'running a job';
  if (decision.action !== 'stay') return 'idle';
  if (provider === 'external') return 'switched on and off by hand';
  return `kept on: ${decision.reason.replace(/^it (is|has) /, (_, verb) => (verb === 'has' ? 'has ' : ''))}`;
}

function describeIdleStop(stopAt: Date, { now, expects }: { now: Date; expects?: string }): string {
  if (stopAt <= now) return ' It is idle and about to be stopped.';
  return ` It will be stopped at ${stopAt.toISOString()} if it stays idle${expects ? `: ${expects}` : ''}.`;
}

function describeLastActivity({ lastActivity, lastActivityAt }: Explained): string {
  if (!lastActivityAt) return '';
  return ` Last activity: ${lastActivity ?? 'unknown'} at ${lastActivityAt.toISOString()}.`;
}

/** Describes the next scheduled run and when the machine is woken for it. */
function describeExpectedRun(
  { status, prewake, bootMs }: Pick<Explained, 'status' | 'prewake' | 'bootMs'>,
  expected: Omit<ExpectedRun, 'agentId'> | null,
  now: Date,
): string {
  if (!expected || status === 'terminated') return '';
  const run = ` Next it expects the run of ${cleanNameForSentence(expected.name)} at ${expected.at.toISOString()}`;
  if (!prewake || status !== 'stopped') return `${run}.`;
  const wakeAt = new Date(expected.at.getTime() - computePrewakeLeadMs(bootMs));
  // The time of the wake has passed: either the machine was already woken, or failed wakes delay the next wake.
  if (wakeAt < now) return `${run}.`;
  return `${run}, and is woken for it at ${wakeAt.toISOString()}.`;
}

/** Estimates what the machine has cost since its start, by its hourly price. Empty for a machine that is off. */
function describeMachineCost(
  { status, onSince, computeMicrosPerHour }: Pick<AgentRow, 'status' | 'onSince' | 'computeMicrosPerHour'>,
  now: Date,
): string {
  if (!onSince || isOffStatus(status)) return '';
  const onMs = Math.max(0, now.getTime() - onSince.getTime());
  const cents = divideRoundingHalfEven(BigInt(onMs) * BigInt(computeMicrosPerHour), 3_600_000n * 10_000n);
  return ` It has been on since ${onSince.toISOString()} and has cost about $${(Number(cents) / 100).toFixed(2)} since then.`;
}

const statusLabels: Record<AgentStatus, string> = {
  online: 'Online',
  offline: 'Offline',
  stopped: 'Stopped',
  starting: 'Starting',
  stopping: 'Stopping',
  rebooting: 'Rebooting',
  draining: 'Draining',
  terminated: 'Terminated',
};
