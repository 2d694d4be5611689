import { audit } from '@muster/access';
import type { LifecycleSource } from '@muster/contracts';
import { closeSessionQuestions, forgetCodesOfSession } from '@muster/jobs';
import type { AutopilotPause, AutopilotSessionEntity, Transaction } from '@muster/database';
import { emitEvent } from '@muster/webhooks';
import { type SessionStatusChange, sessionStatusChanges } from './autopilot-life';
import { appendSessionEvent } from './session-events';
import { computeActiveSessionMs, type SessionRow } from './session-row';

interface StatusChangeFacts {
  change: SessionStatusChange;
  source: LifecycleSource;
  /** Reason that is shown to people. */
  reason: string;
  pausedFor?: AutopilotPause;
  error?: string | null;
  code?: string | null;
}

type ChangedSession = Pick<AutopilotSessionEntity, 'status' | 'pausedFor' | 'activeMs' | 'activeSince'>;

/**
 * Changes a session's status if its current status allows that. One statement sets the status, the reason of a pause
 * and the times. Returns false if the current status does not allow the change.
 */
export async function changeSessionStatus(
  tx: Transaction,
  session: SessionRow,
  facts: StatusChangeFacts,
): Promise<boolean> {
  const { change, source, reason, pausedFor = null, error = null, code = null } = facts;
  const { from, to } = sessionStatusChanges[change];
  const { id, organizationId, status: previous } = session;
  const [changed] = await tx.query<ChangedSession>(
    `UPDATE autopilot_session SET status = $3, paused_for = $4,
       active_ms = $5, active_since = CASE WHEN $3 = 'running' THEN muster_now() END,
       started_at = CASE WHEN $3 = 'running' THEN COALESCE(started_at, muster_now()) ELSE started_at END,
       finished_at = CASE WHEN $6 THEN muster_now() END, error = $7, error_code = $8
     WHERE id = $1 AND status = ANY($2) RETURNING status, paused_for, active_ms, active_since`,
    [
      id,
      from,
      to,
      pausedFor && JSON.stringify(pausedFor),
      computeActiveSessionMs(session),
      isEndedSessionStatus(to),
      error,
      code,
    ],
    'move_autopilot_session',
  );
  if (!changed) return false;
  Object.assign(session, changed);
  if (to !== 'paused')
    await closeSessionQuestions(tx, { organizationId, sessionId: id, reason: `The session is ${to}.` });
  if (isEndedSessionStatus(to)) forgetCodesOfSession(tx, id);
  const pause = pausedFor ? { reason: pausedFor.reason, question: pausedFor.question } : null;
  appendSessionEvent(tx, session, {
    type: 'session',
    data: { status: to, previousStatus: previous, ...(pause ? { pausedFor: pause } : {}), ...(error ? { error } : {}) },
    // The object key of the screenshot is only for the stream, which sends its readers a presigned URL instead.
    ...(pausedFor ? { onStream: { pausedFor } } : {}),
    message: `autopilot session ${previous} → ${to}: ${reason}`,
    level: to === 'failed' ? 'error' : to === 'paused' ? 'warn' : 'info',
    source,
  });
  const { agentId } = session;
  const eventType = to === 'paused' ? 'autopilot.paused' : isEndedSessionStatus(to) ? 'autopilot.finished' : null;
  if (eventType)
    emitEvent(tx, { organizationId, type: eventType, subjects: [{ id, details: { agentId, status: to } }] });
  if (source !== 'api' && source !== 'console') {
    const actor = { kind: 'system', id: 'autopilot', organizationId } as const;
    audit(tx, actor, {
      action: `autopilot.${to}`,
      target: { type: 'autopilot_session', id },
      changes: { status: [previous, to], ...(code ? { code } : {}), ...(pause ? { reason: pause.reason } : {}) },
    });
  }
  return true;
}

function isEndedSessionStatus(status: string): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}
