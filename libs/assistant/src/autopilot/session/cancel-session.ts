import { audit, type Principal } from '@muster/access';
import { AppError, type SessionStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { isOpenSession } from './autopilot-life';
import { startEndingSession } from './end-session';
import { saveSession } from './save-session';
import { appendSessionEvent } from './session-events';
import { readSessionSteps, lockSessionOfAgent } from './session-row';

/** Cancels a session. Its status becomes `cancelled` only when nothing of its browser runs any more. */
export async function cancelSession(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { agentId, sessionId }: { agentId: string; sessionId: string },
): Promise<{ sessionId: string; status: SessionStatus }> {
  const session = await lockSessionOfAgent(tx, { organizationId: caller.organizationId, agentId, sessionId });
  if (!isOpenSession(session.status) || session.ending) {
    const detail = session.ending
      ? 'The session is already ending.'
      : `The session has ended: it is ${session.status}.`;
    throw new AppError('conflict', { detail, extra: { sessionStatus: session.status } });
  }
  audit(tx, caller, { action: 'autopilot.cancel', target: { type: 'autopilot_session', id: sessionId } });
  const steps = await readSessionSteps(tx, sessionId);
  await startEndingSession({ tx, keyRing, session, steps }, { to: 'cancelled', error: null, code: null });
  if (isOpenSession(session.status)) {
    const data = { status: session.status, previousStatus: session.status, cancelling: true };
    appendSessionEvent(tx, session, {
      type: 'session',
      data,
      message: 'autopilot session is being cancelled',
      source: 'api',
    });
  }
  saveSession(tx, session);
  return { sessionId, status: session.status };
}
