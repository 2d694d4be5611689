import type { Transaction } from '@muster/database';
import { type BookedCost, bookRunCosts } from '@muster/pricing';
import { emitEvent } from '@muster/webhooks';

/** What an ended job has cost is computed, booked, and shown on it; it holds nothing of the limit any more. Null: there is no such ended job. */
export async function settleJobCost(
  tx: Transaction,
  jobId: string,
  options: { reprice?: boolean } = {},
): Promise<BookedCost | null> {
  return (await settleJobCosts(tx, [jobId], options)).get(jobId) ?? null;
}

/** As settleJobCost, for a set by the same statements. */
export async function settleJobCosts(
  tx: Transaction,
  jobIds: string[],
  options: { reprice?: boolean } = {},
): Promise<Map<string, BookedCost>> {
  const settled = await bookRunCosts(tx, jobIds, options);
  if (settled.size > 0) {
    tx.defer(
      `UPDATE job SET total_cost_micros = c.total, reserved_micros = 0
       FROM unnest($1::uuid[], $2::bigint[]) AS c (id, total) WHERE job.id = c.id`,
      [[...settled.keys()], [...settled.values()].map(({ totalMicros }) => String(totalMicros))],
      'job_costs',
    );
  }
  for (const { isFirst, ...of } of settled.values()) if (isFirst) emitBatchEnd(tx, of);
  return settled;
}

/** Each run of a batch is settled when its end is durable, so whoever settles the last one sees that nothing is open. */
function emitBatchEnd(
  tx: Transaction,
  { organizationId, batchId }: Pick<BookedCost, 'organizationId' | 'batchId'>,
): void {
  if (batchId === null) return;
  emitEvent(tx, {
    organizationId,
    type: 'batch.finished',
    of: [{ id: batchId, details: null }],
    once: `batch.finished ${batchId}`,
    where: {
      name: 'of_batch',
      sql: `NOT EXISTS (SELECT FROM job WHERE batch_id = $7::uuid AND status IN ('queued', 'running'))`,
      values: [batchId],
    },
  });
}
