import { AppError } from '@muster/contracts';
import type { AutopilotSessionEntity, AutopilotStepEntity, Transaction } from '@muster/database';

export type SessionRow = AutopilotSessionEntity & { now: Date };
export type StepRow = AutopilotStepEntity;

/** Reads a session and locks it until the end of the transaction; undefined if it does not exist. */
export async function lockSession(tx: Transaction, id: string): Promise<SessionRow | undefined> {
  const [session] = await tx.query<SessionRow>(
    'SELECT s.*, muster_clock() AS now FROM autopilot_session s WHERE s.id = $1 FOR UPDATE',
    [id],
    'lock_autopilot_session',
  );
  return session;
}

/** Reads and locks a session of an organization's agent. Throws not_found if it does not exist. */
export async function lockSessionOfAgent(
  tx: Transaction,
  sessionRef: { organizationId: string; agentId: string; sessionId: string },
): Promise<SessionRow> {
  const session = await lockSession(tx, sessionRef.sessionId);
  if (!session || session.organizationId !== sessionRef.organizationId || session.agentId !== sessionRef.agentId)
    throw sessionNotFoundError();
  return session;
}

export function sessionNotFoundError(): AppError {
  return new AppError('not_found', {
    detail: 'The agent has no session with this id. List the sessions of the agent to find the id.',
  });
}

/** Returns the session's steps in the order of the task. */
export function readSessionSteps(tx: Transaction, sessionId: string): Promise<StepRow[]> {
  return tx.query<StepRow>(
    'SELECT * FROM autopilot_step WHERE session_id = $1 ORDER BY position',
    [sessionId],
    'autopilot_steps',
  );
}

/** Returns how long the session has been running, in milliseconds, without its pauses. */
export function computeActiveSessionMs({
  activeMs,
  activeSince,
  now,
}: Pick<SessionRow, 'activeMs' | 'activeSince' | 'now'>): number {
  return activeMs + (activeSince ? Math.max(0, now.getTime() - activeSince.getTime()) : 0);
}
