import { audit, changesBetween, type Principal } from '@muster/access';
import type { FeedbackSource, FeedbackStatus } from '@muster/contracts';
import type { FeedbackSubmissionEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { armWorkItem } from '../work-items/arm-work-item';
import { noSuchSubmission } from './find-submission';

/** A person sets the status: it goes to the trackers from here. */
export async function changeStatus(
  tx: Transaction,
  caller: Principal,
  { id, status, now }: { id: string; status: FeedbackStatus; now: Date },
): Promise<void> {
  const { organizationId } = caller;
  const [before] = await tx.query<Pick<FeedbackSubmissionEntity, 'status' | 'statusAt'>>(
    'SELECT status, status_at FROM feedback_submission WHERE id = $1 AND organization_id = $2 FOR UPDATE',
    [id, organizationId],
  );
  if (!before) throw noSuchSubmission();
  if (before.status !== status) {
    // A tracker's clock may be ahead of ours, and whoever sets it has seen what it was.
    const at = new Date(Math.max(now.getTime(), before.statusAt.getTime() + 1));
    await moveSubmission(tx, { id, organizationId, from: before.status }, { status, at, source: 'user' });
    await armWorkItem(tx, id);
  }
  const changes = changesBetween({ status: before.status }, { status });
  audit(tx, caller, { action: 'feedback.update', target: { type: 'feedback_submission', id }, changes });
}

interface Move {
  status: FeedbackStatus;
  at: Date;
  source: FeedbackSource;
}

/** Writes a submission's new status and tells it in the history. The caller holds its lock. */
async function moveSubmission(
  tx: Transaction,
  { id, organizationId, from }: { id: string; organizationId: string; from: FeedbackStatus },
  { status, at, source }: Move,
): Promise<void> {
  await tx.execute(
    `UPDATE feedback_submission SET status = $3, status_at = $4, updated_at = now()
     WHERE id = $1 AND organization_id = $2`,
    [id, organizationId, status, at],
  );
  await tellHistory(tx, { id, organizationId }, { at, from, to: status, source, reason: null });
}

interface Told {
  at: Date;
  from: FeedbackStatus;
  to: FeedbackStatus;
  source: FeedbackSource;
  reason: string | null;
}

async function tellHistory(
  tx: Transaction,
  { id, organizationId }: { id: string; organizationId: string },
  { at, from, to, source, reason }: Told,
): Promise<void> {
  await tx.execute(
    `INSERT INTO feedback_status_change (id, submission_id, organization_id, at, from_status, to_status, source, reason)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [newId(), id, organizationId, at, from, to, source, reason],
  );
}
