import type { WaitingReason } from '@muster/contracts';
import { buildRowStatements, type Transaction } from '@muster/database';
import { waitsForAccountSql } from '../accounts/accounts-sql';
import { waitsForKeySql } from './concurrency-keys';

/**
 * Sets the waiting reason of the agent's queued jobs. A job that already has this reason is not updated, so its
 * `waiting_since` stays the start of the wait. Jobs that wait for a concurrency key or an account keep that reason. A
 * job that another transaction has locked is skipped, because that transaction may wait for the agent, which the caller
 * has locked. The next dispatch of the agent updates the job.
 */
export function setWaitingReasonOfJobs(
  tx: Transaction,
  { agentId, except, reason }: { agentId: string; except?: string; reason: WaitingReason },
): void {
  tx.deferRow(waitingRows, [agentId, reason, except ?? null]);
}

const waitingRows = buildRowStatements(
  'set_waiting',
  { agent_id: 'uuid', reason: 'text', except_job_id: 'uuid' },
  (rows) => `
  UPDATE job SET waiting_reason = input.reason, waiting_since = muster_now() FROM ${rows}
  WHERE job.id = ANY(ARRAY(
    SELECT id FROM job
    WHERE agent_id = input.agent_id AND status = 'queued' AND not_before <= muster_now() AND id IS DISTINCT FROM input.except_job_id
      AND waiting_reason IS DISTINCT FROM input.reason AND NOT ${waitsForKeySql('job')} AND NOT ${waitsForAccountSql('job')}
    FOR UPDATE OF job SKIP LOCKED))`,
);
