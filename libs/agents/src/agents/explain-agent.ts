import type { AgentStatus } from '@muster/contracts';
import type { AgentRow } from './agent-row';

type Explained = Pick<
  AgentRow,
  | 'status'
  | 'statusSince'
  | 'statusSource'
  | 'statusReason'
  | 'lastSeen'
  | 'lastActivityAt'
  | 'idleAutoStopExempt'
  | 'hasWork'
>;
type StopSettings = Pick<AgentRow, 'autoStopEnabled' | 'idleStopMinutes'>;

/** Why the machine is on or off and since when, and when idle stop will end it. */
export function explainAgent(
  agent: Explained,
  settings: StopSettings,
  now: Date,
): { why: string; stopAt: Date | null } {
  const { status, statusSince, statusSource, statusReason } = agent;
  const keptOn = reasonToStayOn(agent, settings);
  const stopAt = status === 'online' && keptOn === null ? idleDeadline(agent, settings) : null;
  const since = `${words[status]} since ${statusSince.toISOString()} (${statusSource})`;
  const because = statusReason ? `: ${statusReason}` : '';
  const next = status !== 'online' ? '' : stopAt ? stopSentence(stopAt, now) : ` It stays on: ${keptOn}.`;
  return { why: `${since}${because}.${next}`, stopAt };
}

/** Null: it stops once it has been idle for long enough. */
function reasonToStayOn({ idleAutoStopExempt, hasWork }: Explained, { autoStopEnabled }: StopSettings): string | null {
  if (hasWork) return 'it has work';
  if (idleAutoStopExempt) return 'it is pinned';
  if (!autoStopEnabled) return 'idle stop is off';
  return null;
}

/** Counted from the last activity; a machine on which nothing has happened yet, from its being on. */
function idleDeadline({ lastActivityAt, statusSince }: Explained, { idleStopMinutes }: StopSettings): Date {
  return new Date((lastActivityAt ?? statusSince).getTime() + idleStopMinutes * 60_000);
}

function stopSentence(stopAt: Date, now: Date): string {
  return stopAt <= now ? ' It is idle and about to be stopped.' : ` Idle stop comes at ${stopAt.toISOString()}.`;
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
