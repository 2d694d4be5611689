import type { Transaction } from '@muster/database';
import { type BookedCost, bookRunCosts } from '@muster/pricing';
import { emitEvent } from '@muster/webhooks';

/**
 * Computes and books the cost of an ended job, stores the cost on the job and releases the job's reserved spend.
 * Returns null if the job does not exist or has not ended.
 */
export async function bookJobCost(
  tx: Transaction,
  jobId: string,
  options: { reprice?: boolean } = {},
): Promise<BookedCost | null> {
  return (await bookJobCosts(tx, [jobId], options)).get(jobId) ?? null;
}

/** Does the same as bookJobCost for several jobs, with as many statements as for one. */
export async function bookJobCosts(
  tx: Transaction,
  jobIds: string[],
  options: { reprice?: boolean } = {},
): Promise<Map<string, BookedCost>> {
  const booked = await bookRunCosts(tx, jobIds, options);
  if (booked.size > 0) {
    tx.deferStatement(
      `UPDATE job SET total_cost_micros = c.total, reserved_micros = 0
       FROM unnest($1::uuid[], $2::bigint[]) AS c (id, total) WHERE job.id = c.id`,
      [[...booked.keys()], [...booked.values()].map(({ totalMicros }) => String(totalMicros))],
      'job_costs',
    );
  }
  for (const cost of booked.values()) if (cost.isFirst) emitBatchEndEvent(tx, cost);
  return booked;
}

/**
 * Emits batch.finished if no job of the batch is open. A job's cost is booked after its end is committed, so the
 * booking of the last job finds no open one.
 */
function emitBatchEndEvent(
  tx: Transaction,
  { organizationId, batchId }: Pick<BookedCost, 'organizationId' | 'batchId'>,
): void {
  if (batchId === null) return;
  emitEvent(tx, {
    organizationId,
    type: 'batch.finished',
    subjects: [{ id: batchId, details: null }],
    once: `batch.finished ${batchId}`,
    where: {
      name: 'of_batch',
      sql: `NOT EXISTS (SELECT FROM job WHERE batch_id = e.subject_id AND status IN ('queued', 'running'))`,
    },
  });
}
