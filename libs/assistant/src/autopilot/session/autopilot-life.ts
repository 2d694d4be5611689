import type { SessionStatus } from '@muster/contracts';

interface StatusChangeRow {
  from: readonly SessionStatus[];
  to: SessionStatus;
}

const openStatuses = ['queued', 'running', 'paused', 'resumed'] as const satisfies readonly SessionStatus[];

/** All allowed changes of a session's status, by name. Only `changeSessionStatus` changes it. */
export const sessionStatusChanges = {
  /** The queued session starts, because its browser is open. */
  begin: { from: ['queued'], to: 'running' },
  /** The session waits for a person's answer. */
  pause: { from: ['running'], to: 'paused' },
  /** A person has answered the question of the paused session. */
  resume: { from: ['paused'], to: 'resumed' },
  /** The session continues to run with the person's answer. */
  continue: { from: ['resumed'], to: 'running' },
  complete: { from: ['running'], to: 'completed' },
  fail: { from: openStatuses, to: 'failed' },
  cancel: { from: openStatuses, to: 'cancelled' },
} as const satisfies Record<string, StatusChangeRow>;

export type SessionStatusChange = keyof typeof sessionStatusChanges;

export function isOpenSession(status: SessionStatus): boolean {
  return (openStatuses as readonly SessionStatus[]).includes(status);
}
