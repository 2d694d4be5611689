import type { FeedbackSource, FeedbackStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { emitEvent } from '@muster/webhooks';

interface SubmissionRef {
  id: string;
  organizationId: string;
}

/** Updates a submission’s status and adds the change to its history. The caller holds the row lock. */
export async function setSubmissionStatus(
  tx: Transaction,
  { from, ...submission }: SubmissionRef & { from: FeedbackStatus },
  { status, at, source }: { status: FeedbackStatus; at: Date; source: FeedbackSource },
): Promise<void> {
  await tx.execute(
    `UPDATE feedback_submission SET status = $3, status_at = $4, updated_at = muster_now()
     WHERE id = $1 AND organization_id = $2`,
    [submission.id, submission.organizationId, status, at],
  );
  await insertStatusChange(tx, submission, { at, from, to: status, source, reason: null });
  if (status === 'resolved' && from !== 'resolved') {
    const { id, organizationId } = submission;
    emitEvent(tx, { organizationId, type: 'feedback.resolved', subjects: [{ id, details: { status } }] });
  }
}

interface StatusChange {
  at: Date;
  from: FeedbackStatus;
  to: FeedbackStatus;
  source: FeedbackSource;
  reason: string | null;
}

export async function insertStatusChange(
  tx: Transaction,
  { id, organizationId }: SubmissionRef,
  { at, from, to, source, reason }: StatusChange,
): Promise<void> {
  await tx.execute(
    `INSERT INTO feedback_status_change (id, submission_id, organization_id, at, from_status, to_status, source, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [newId(), id, organizationId, at, from, to, source, reason],
  );
}
