import type { FeedbackSource, FeedbackStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { emitEvent } from '@muster/webhooks';

interface Of {
  id: string;
  organizationId: string;
}

/** Updates a submission’s status and adds the change to its history. The caller holds the row lock. */
export async function moveSubmission(
  tx: Transaction,
  { from, ...of }: Of & { from: FeedbackStatus },
  { status, at, source }: { status: FeedbackStatus; at: Date; source: FeedbackSource },
): Promise<void> {
  await tx.execute(
    `UPDATE feedback_submission SET status = $3, status_at = $4, updated_at = muster_now()
     WHERE id = $1 AND organization_id = $2`,
    [of.id, of.organizationId, status, at],
  );
  await tellHistory(tx, of, { at, from, to: status, source, reason: null });
  if (status === 'resolved' && from !== 'resolved') {
    const { id, organizationId } = of;
    emitEvent(tx, { organizationId, type: 'feedback.resolved', of: [{ id, details: { status } }] });
  }
}

interface Told {
  at: Date;
  from: FeedbackStatus;
  to: FeedbackStatus;
  source: FeedbackSource;
  reason: string | null;
}

export async function tellHistory(
  tx: Transaction,
  { id, organizationId }: Of,
  { at, from, to, source, reason }: Told,
): Promise<void> {
  await tx.execute(
    `INSERT INTO feedback_status_change (id, submission_id, organization_id, at, from_status, to_status, source, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [newId(), id, organizationId, at, from, to, source, reason],
  );
}
