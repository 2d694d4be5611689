import { withdrawAnswerCommands } from '@muster/commands';
import type { Transaction } from '@muster/database';
import { emitQuestionEvent, type Notified, notifiedColumns } from './emit-question-event';

/** Cancels the open questions of a run that ends or is cancelled. The caller must hold the run's lock. */
export async function cancelQuestions(
  tx: Transaction,
  { organizationId, jobId, reason }: { organizationId: string; jobId: string; reason: string },
): Promise<void> {
  const cancelled = await tx.query<Notified>(
    `UPDATE question SET status = 'cancelled', reason = $3, ended_at = muster_now()
     WHERE job_id = $1 AND organization_id = $2 AND status = 'open'
     RETURNING ${notifiedColumns}`,
    [jobId, organizationId, reason],
    'cancel_questions',
  );
  for (const row of cancelled) emitQuestionEvent(tx, row);
}

/**
 * Cancels the open questions of an ended run, deletes the codes from its answered questions, and withdraws answers that
 * were not delivered.
 */
export async function closeQuestions(
  tx: Transaction,
  { organizationId, jobId }: { organizationId: string; jobId: string },
): Promise<void> {
  tx.deferStatement(
    'UPDATE question SET sealed = NULL WHERE job_id = $1 AND sealed IS NOT NULL',
    [jobId],
    'forget_codes',
  );
  withdrawAnswerCommands(tx, jobId);
  await cancelQuestions(tx, { organizationId, jobId, reason: 'The run ended.' });
}
