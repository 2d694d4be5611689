import { type AgentStatus, roundedQuotient } from '@muster/contracts';
import { isOff, isOn } from '../lifecycle/agent-life';
import { decideIdleStop, type IdleFacts } from '../lifecycle/decide-idle-stop';
import type { AgentRow } from './agent-row';

type Explained = IdleFacts & Pick<AgentRow, 'statusSource' | 'statusReason' | 'onSince' | 'lastActivity'>;

/** Why the machine is on or off and since when, what keeps it on, when idle stop will end it, and what it costs. */
export function explainAgent(
  agent: Explained & Pick<AgentRow, 'computeMicrosPerHour'>,
  now: Date,
): { why: string; stopAt: Date | null } {
  const { status, statusSince, statusSource, statusReason } = agent;
  const { stopAt, reason } = decideIdleStop(agent, now);
  const since = `${words[status]} since ${statusSince.toISOString()} (${statusSource})`;
  // Some reasons are sentences, with their full stop.
  const because = statusReason ? `: ${statusReason.replace(/\.$/, '')}` : '';
  const mayBeOn = isOn(status) || (status === 'offline' && stopAt !== null);
  const next = !mayBeOn ? '' : stopAt ? stopSentence(stopAt, now) : ` It stays on: ${reason}.`;
  return { why: `${since}${because}.${next}${mayBeOn ? extendedBy(agent) : ''}${costSentence(agent, now)}`, stopAt };
}

function stopSentence(stopAt: Date, now: Date): string {
  return stopAt <= now ? ' It is idle and about to be stopped.' : ` Idle stop comes at ${stopAt.toISOString()}.`;
}

function extendedBy({ lastActivity, lastActivityAt }: Explained): string {
  if (!lastActivityAt) return '';
  return ` Last activity: ${lastActivity ?? 'something'} at ${lastActivityAt.toISOString()}.`;
}

/** Estimated by the hour, as the organization says; a machine that is off costs nothing that we know of. */
function costSentence(
  { status, onSince, computeMicrosPerHour }: Pick<AgentRow, 'status' | 'onSince' | 'computeMicrosPerHour'>,
  now: Date,
): string {
  if (!onSince || isOff(status)) return '';
  const onMs = Math.max(0, now.getTime() - onSince.getTime());
  const cents = roundedQuotient(BigInt(onMs) * BigInt(computeMicrosPerHour), 3_600_000n * 10_000n);
  const usd = (Number(cents) / 100).toFixed(2);
  return ` On since ${onSince.toISOString()}, about ${usd} USD so far.`;
}

const words: Record<AgentStatus, string> = {
  online: 'Online',
  offline: 'Offline',
  stopped: 'Stopped',
  starting: 'Starting',
  stopping: 'Stopping',
  rebooting: 'Rebooting',
  draining: 'Draining',
  terminated: 'Terminated',
};
