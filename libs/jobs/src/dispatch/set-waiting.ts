import type { WaitingReason } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { waitsForKeySql } from './concurrency-keys';

/**
 * Sets the waiting reason of the agent's queued jobs. A job that already has this reason is not updated, so its
 * `waiting_since` stays the start of the wait. Jobs that wait for a concurrency key keep that reason. A job that another
 * transaction has locked is skipped, because that transaction may wait for the agent, which the caller has locked. The
 * next dispatch of the agent updates the job.
 */
export function setWaiting(
  tx: Transaction,
  { agentId, except, reason }: { agentId: string; except?: string; reason: WaitingReason },
): void {
  tx.defer(
    `UPDATE job SET waiting_reason = $2, waiting_since = muster_now()
     WHERE id = ANY(ARRAY(
       SELECT id FROM job
       WHERE agent_id = $1 AND status = 'queued' AND not_before <= muster_now() AND id IS DISTINCT FROM $3
         AND waiting_reason IS DISTINCT FROM $2 AND NOT ${waitsForKeySql('job')} FOR UPDATE OF job SKIP LOCKED))`,
    [agentId, reason, except ?? null],
    'set_waiting',
  );
}
