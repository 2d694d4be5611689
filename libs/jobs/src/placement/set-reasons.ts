import type { WaitingReason } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { waitsForAccountSql } from '../accounts/accounts-sql';
import { waitsForKeySql } from '../dispatch/concurrency-keys';

/** Sets the waiting reason of a job without an agent. A job that another transaction has locked is skipped. */
export function setReasonOfUnplacedJob(
  tx: Transaction,
  { jobId, waiting }: { jobId: string; waiting: WaitingReason },
): void {
  tx.deferStatement(
    `UPDATE job SET waiting_reason = $2, waiting_since = muster_now()
     WHERE id = ANY(ARRAY(
       SELECT id FROM job WHERE id = $1 AND status = 'queued' AND agent_id IS NULL
         AND waiting_reason IS DISTINCT FROM $2 FOR UPDATE SKIP LOCKED))`,
    [jobId, waiting],
    'reason_of_unplaced',
  );
}

/** Sets the waiting reason of the jobs that require the same labels. Jobs that wait for a key or an account keep it. */
export function setReasonOfTargetGroup(
  tx: Transaction,
  { organizationId, targetGroup, waiting }: { organizationId: string; targetGroup: string; waiting: WaitingReason },
): void {
  tx.deferStatement(
    `UPDATE job SET waiting_reason = $3, waiting_since = muster_now()
     WHERE id = ANY(ARRAY(
       SELECT id FROM job WHERE organization_id = $1 AND target_group = $2 AND status = 'queued' AND agent_id IS NULL
         AND not_before <= muster_now() AND waiting_reason IS DISTINCT FROM $3
         AND NOT ${waitsForKeySql('job')} AND NOT ${waitsForAccountSql('job')}
       FOR UPDATE OF job SKIP LOCKED))`,
    [organizationId, targetGroup, waiting],
    'reason_of_group',
  );
}
