import type { Transaction } from '@muster/database';
import { settleRunCost } from '@muster/pricing';

/** What an ended job has cost is computed, booked, and shown on it; it holds nothing of the limit any more. False: there is no such ended job. */
export async function settleJobCost(tx: Transaction, jobId: string): Promise<boolean> {
  const total = await settleRunCost(tx, jobId);
  if (total === null) return false;
  tx.defer('UPDATE job SET total_cost_micros = $2, reserved_micros = 0 WHERE id = $1', [jobId, total], 'job_cost');
  return true;
}
