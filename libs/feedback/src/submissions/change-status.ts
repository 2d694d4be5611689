import { audit, listChangedFields, type Principal } from '@muster/access';
import { type FeedbackStatus, notFoundError } from '@muster/contracts';
import type { FeedbackSubmissionEntity, Transaction } from '@muster/database';
import { scheduleWorkItemSync } from '../work-items/schedule-work-item-sync';
import { setSubmissionStatus } from './set-submission-status';

/** Sets the status for a person, and requests a sync that sends it to the trackers. */
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
  if (!before) throw notFoundError('submission');
  if (before.status !== status) {
    // A tracker’s clock may be ahead of the service’s clock. The person saw the stored status when changing it, so the
    // time of this change must be after the time of the stored status.
    const at = new Date(Math.max(now.getTime(), before.statusAt.getTime() + 1));
    await setSubmissionStatus(tx, { id, organizationId, from: before.status }, { status, at, source: 'user' });
    await scheduleWorkItemSync(tx, id);
  }
  const changes = listChangedFields({ status: before.status }, { status });
  audit(tx, caller, { action: 'feedback.update', target: { type: 'feedback_submission', id }, changes });
}
