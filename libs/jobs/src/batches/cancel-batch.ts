import { notFoundError } from '@muster/contracts';
import { audit, type Principal, getCallerChannel } from '@muster/access';
import {
  type BatchEntity,
  type Database,
  type JobEntity,
  recordOrganizationEvent,
  type Transaction,
} from '@muster/database';
import { stopOrCancelJobs } from '../ends/cancel-jobs';

/**
 * Maximum number of jobs that one transaction ends, so that other transactions about the same agents do not wait long.
 */
const jobsPerTransaction = 1000;

/**
 * Records that the batch is being cancelled; no job of the batch starts afterwards. The handler of the enqueued message
 * ends the batch's open jobs.
 */
export async function requestBatchCancel(
  tx: Transaction,
  caller: Principal,
  id: string,
  { reason }: { reason?: string },
): Promise<void> {
  const { organizationId } = caller;
  const [found] = await tx.query<Pick<BatchEntity, 'workflowId' | 'total' | 'rejected'>>(
    `UPDATE batch SET cancel_requested_at = COALESCE(cancel_requested_at, muster_now()),
       cancel_reason = COALESCE(cancel_reason, $3), cancel_source = COALESCE(cancel_source, $4)
     WHERE id = $1 AND organization_id = $2 RETURNING workflow_id, total, rejected`,
    [id, organizationId, reason ?? null, getCallerChannel(caller)],
  );
  if (!found) throw notFoundError('batch');
  audit(tx, caller, { action: 'batch.cancel', target: { type: 'batch', id }, changes: { reason: reason ?? null } });
  const { workflowId, total, rejected } = found;
  const data = { batchId: id, workflowId, status: 'cancelling', total: total - rejected };
  recordOrganizationEvent(tx, { organizationId, type: 'batch', data });
  await tx.enqueue({ queue: 'dispatch', name: 'cancel-batch', payload: { batchId: id } });
}

/** Ends the open jobs of a batch that is being cancelled. After an interruption, only the remaining jobs are ended. */
export async function cancelBatch(database: Database, batchId: string, now: () => Date): Promise<{ ended: number }> {
  let ended = 0;
  for (;;) {
    const step = await database.transaction('system', (tx) => cancelNextJobs(tx, batchId, now()));
    // The search is repeated until it finds no open job, because a job that failed concurrently may have left a retry.
    if (step.found === 0) return { ended };
    ended += step.ended;
  }
}

async function cancelNextJobs(tx: Transaction, batchId: string, now: Date): Promise<{ found: number; ended: number }> {
  const open = await tx.query<
    Pick<JobEntity, 'id' | 'organizationId'> & {
      reason: BatchEntity['cancelReason'];
      source: NonNullable<BatchEntity['cancelSource']>;
    }
  >(
    `SELECT j.id, j.organization_id, b.cancel_reason AS reason, b.cancel_source AS source
     FROM batch b JOIN job j ON j.batch_id = b.id
     WHERE b.id = $1 AND b.cancel_requested_at IS NOT NULL
       AND j.status IN ('queued', 'running') AND j.cancel_requested_at IS NULL
     ORDER BY j.id LIMIT $2`,
    [batchId, jobsPerTransaction],
    'open_of_batch',
  );
  const [first] = open;
  if (!first) return { found: 0, ended: 0 };
  const { organizationId, source } = first;
  const ids = open.map(({ id }) => id);
  const { cancelled, cancelling } = await stopOrCancelJobs(tx, {
    organizationId,
    ids,
    source,
    reason: first.reason ?? undefined,
    now,
  });
  return { found: open.length, ended: cancelled + cancelling };
}
