import type { WaitingReason } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { waitsForKey } from './concurrency-keys';

/**
 * Sets why the agent's queued jobs wait. A job with this reason already is not updated, so `waiting_since` is the start
 * of its wait. Jobs that wait for a key are left unchanged.
 */
export function setWaiting(
  tx: Transaction,
  { agentId, except, reason }: { agentId: string; except?: string; reason: WaitingReason },
): void {
  tx.defer(
    `UPDATE job SET waiting_reason = $2, waiting_since = muster_now()
     WHERE agent_id = $1 AND status = 'queued' AND not_before <= muster_now() AND id IS DISTINCT FROM $3
       AND waiting_reason IS DISTINCT FROM $2 AND NOT ${waitsForKey('job')}`,
    [agentId, reason, except ?? null],
    'set_waiting',
  );
}
