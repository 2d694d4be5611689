import type { PilotBatchEntity, Transaction } from '@muster/database';
import { waitingTimeOfJobSql } from '../roi/compute-roi';

/**
 * Deletes the details of a job's batches when the job is deleted: sessions, stop events and claims. The totals of the
 * batches, the processing times of their claims, and the cost and the waiting time of the job stay for the return on
 * investment.
 */
export async function unlinkJobFromBatches(
  tx: Transaction,
  { organizationId, jobId }: { organizationId: string; jobId: string },
): Promise<void> {
  const batches = await tx.query<Pick<PilotBatchEntity, 'id'>>(
    'SELECT id FROM pilot_batch WHERE job_id = $1 AND organization_id = $2 ORDER BY id FOR UPDATE',
    [jobId, organizationId],
  );
  const ids = batches.map(({ id }) => id);
  if (ids.length === 0) return;
  tx.deferStatement('DELETE FROM process_library_session_timeline WHERE pilot_batch_id = ANY($1)', [ids]);
  tx.deferStatement('DELETE FROM process_library_session_summary WHERE pilot_batch_id = ANY($1)', [ids]);
  tx.deferStatement('DELETE FROM pilot_stop_event WHERE pilot_batch_id = ANY($1)', [ids]);
  tx.deferStatement('UPDATE pilot_roi_metric SET claims_gone = true WHERE pilot_batch_id = ANY($1)', [ids]);
  tx.deferStatement('DELETE FROM pilot_claim_result WHERE pilot_batch_id = ANY($1)', [ids]);
  await tx.execute(
    `UPDATE pilot_batch b SET job_id = NULL, deleted_job_cost_micros = j.total_cost_micros,
       deleted_job_waiting_micros = ${waitingTimeOfJobSql('j.id')}
     FROM job j WHERE j.id = $2 AND b.id = ANY($1)`,
    [ids, jobId],
  );
}
