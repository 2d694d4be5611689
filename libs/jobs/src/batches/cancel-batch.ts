import { audit, type Principal } from '@muster/access';
import type { Database, Transaction } from '@muster/database';
import { cancelJobs } from '../cancel-jobs';
import { noSuchBatch } from './read-batches';

/** Writes down that the batch is to end; ending what is open of it comes after, in steps of their own. */
export async function requestBatchCancel(
  tx: Transaction,
  caller: Principal,
  id: string,
  { reason }: { reason?: string },
): Promise<void> {
  const found = await tx.execute(
    `UPDATE batch SET cancel_requested_at = COALESCE(cancel_requested_at, now())
     WHERE id = $1 AND organization_id = $2`,
    [id, caller.organizationId],
  );
  if (!found) throw noSuchBatch();
  audit(tx, caller, { action: 'batch.cancel', target: { type: 'batch', id }, changes: { reason: reason ?? null } });
}

/**
 * Ends everything of the batch that is open, as many in a transaction as cancelJobs takes. One that is interrupted is
 * taken up by asking again: what has ended is over.
 */
export async function cancelOpenRuns(
  database: Database,
  caller: Principal,
  id: string,
  { reason, now }: { reason?: string; now: () => Date },
): Promise<void> {
  const { organizationId } = caller;
  for (let ended = 1; ended > 0;) {
    const { cancelled, cancelling } = await database.transaction({ organizationId }, (tx) =>
      cancelJobs(tx, caller, { filter: { batchId: id }, reason }, now()),
    );
    ended = cancelled + cancelling;
  }
}
