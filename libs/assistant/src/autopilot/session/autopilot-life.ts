import type { SessionStatus } from '@muster/contracts';

interface MoveRow {
  from: readonly SessionStatus[];
  to: SessionStatus;
}

const openStatuses = ['queued', 'running', 'paused', 'resumed'] as const satisfies readonly SessionStatus[];

/** A session's life: every move that it can make, by name. Nothing but moveSession changes a status. */
export const sessionMoves = {
  /** Its browser is open. */
  begin: { from: ['queued'], to: 'running' },
  /** It needs a person. */
  pause: { from: ['running'], to: 'paused' },
  /** A person has answered. */
  resume: { from: ['paused'], to: 'resumed' },
  /** What was answered is taken up. */
  go_on: { from: ['resumed'], to: 'running' },
  complete: { from: ['running'], to: 'completed' },
  fail: { from: openStatuses, to: 'failed' },
  cancel: { from: openStatuses, to: 'cancelled' },
} as const satisfies Record<string, MoveRow>;

export type SessionMove = keyof typeof sessionMoves;

export function isOpen(status: SessionStatus): boolean {
  return (openStatuses as readonly SessionStatus[]).includes(status);
}
