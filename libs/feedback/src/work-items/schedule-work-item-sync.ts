import type { Transaction } from '@muster/database';

/**
 * Requests a sync of a work item. If a sync is running, another one follows it. Returns false if the item does not
 * exist.
 */
export async function scheduleWorkItemSync(tx: Transaction, submissionId: string): Promise<boolean> {
  const armed = await tx.execute(
    `UPDATE feedback_work_item SET armed = armed + 1, due_at = LEAST(due_at, muster_now()) WHERE submission_id = $1`,
    [submissionId],
  );
  if (armed === 1) await tx.enqueue({ queue: 'feedback', name: 'sync-work-item', payload: { submissionId } });
  return armed === 1;
}
