import type { Transaction } from '@muster/database';
import { type SettledCost, settleRunCost } from '@muster/pricing';

/** What an ended job has cost is computed, booked, and shown on it; it holds nothing of the limit any more. Null: there is no such ended job. */
export async function settleJobCost(
  tx: Transaction,
  jobId: string,
  options: { anew?: boolean } = {},
): Promise<SettledCost | null> {
  const settled = await settleRunCost(tx, jobId, options);
  if (settled === null) return null;
  const { totalMicros } = settled;
  tx.defer(
    'UPDATE job SET total_cost_micros = $2, reserved_micros = 0 WHERE id = $1',
    [jobId, totalMicros],
    'job_cost',
  );
  return settled;
}
