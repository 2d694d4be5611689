import { AppError } from '@muster/contracts';
import type { AutopilotSessionEntity, AutopilotStepEntity, Transaction } from '@muster/database';

export type SessionRow = AutopilotSessionEntity & { now: Date };
export type StepRow = AutopilotStepEntity;

/** A session that nobody else changes until the end of the transaction; undefined where there is none. */
export async function lockSession(tx: Transaction, id: string): Promise<SessionRow | undefined> {
  const [session] = await tx.query<SessionRow>(
    'SELECT s.*, muster_clock() AS now FROM autopilot_session s WHERE s.id = $1 FOR UPDATE',
    [id],
    'lock_autopilot_session',
  );
  return session;
}

/** As lockSession, of an organization's agent; throws where there is none. */
export async function requireSession(
  tx: Transaction,
  of: { organizationId: string; agentId: string; sessionId: string },
): Promise<SessionRow> {
  const session = await lockSession(tx, of.sessionId);
  if (!session || session.organizationId !== of.organizationId || session.agentId !== of.agentId) throw noSuchSession();
  return session;
}

export function noSuchSession(): AppError {
  return new AppError('not_found', { detail: 'There is no such session of this agent.' });
}

/** In the order of the task. */
export function readSteps(tx: Transaction, sessionId: string): Promise<StepRow[]> {
  return tx.query<StepRow>(
    'SELECT * FROM autopilot_step WHERE session_id = $1 ORDER BY position',
    [sessionId],
    'autopilot_steps',
  );
}

/** How long it has been at work; pauses don't count. */
export function activeMsOf({
  activeMs,
  activeSince,
  now,
}: Pick<SessionRow, 'activeMs' | 'activeSince' | 'now'>): number {
  return activeMs + (activeSince ? Math.max(0, now.getTime() - activeSince.getTime()) : 0);
}
