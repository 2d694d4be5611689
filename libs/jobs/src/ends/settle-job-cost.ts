import type { Transaction } from '@muster/database';
import { type SettledCost, settleRunCosts } from '@muster/pricing';
import { emitEvent } from '@muster/webhooks';

/** What an ended job has cost is computed, booked, and shown on it; it holds nothing of the limit any more. Null: there is no such ended job. */
export async function settleJobCost(
  tx: Transaction,
  jobId: string,
  options: { anew?: boolean } = {},
): Promise<SettledCost | null> {
  return (await settleJobCosts(tx, [jobId], options)).get(jobId) ?? null;
}

/** As settleJobCost, for several in the round trips of one. */
export async function settleJobCosts(
  tx: Transaction,
  jobIds: string[],
  options: { anew?: boolean } = {},
): Promise<Map<string, SettledCost>> {
  const settled = await settleRunCosts(tx, jobIds, options);
  for (const [jobId, { totalMicros, isFirst, ...of }] of settled) {
    tx.defer(
      'UPDATE job SET total_cost_micros = $2, reserved_micros = 0 WHERE id = $1',
      [jobId, totalMicros],
      'job_cost',
    );
    if (isFirst) emitBatchEnd(tx, of);
  }
  return settled;
}

/** Each run of a batch is settled when its end is durable, so whoever settles the last one sees that nothing is open. */
function emitBatchEnd(
  tx: Transaction,
  { organizationId, batchId }: Pick<SettledCost, 'organizationId' | 'batchId'>,
): void {
  if (batchId === null) return;
  emitEvent(tx, {
    organizationId,
    type: 'batch.finished',
    of: [{ id: batchId }],
    once: `batch.finished ${batchId}`,
    where: {
      name: 'of_batch',
      sql: `NOT EXISTS (SELECT FROM job WHERE batch_id = $7::uuid AND status IN ('queued', 'running'))`,
      values: [batchId],
    },
  });
}
