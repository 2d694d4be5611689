import { audit, type Principal, sourceOf } from '@muster/access';
import { startCleanup, isOn, detachStopCommands, promiseRemoval } from '@muster/agents';
import { dropTimelineOfJob } from '@muster/timeline';
import { isTerminal } from '@muster/contracts';
import type { AgentEntity, JobEntity, Transaction } from '@muster/database';
import { issueStop } from '../ends/cancel-job';
import { finishJob } from '../ends/finish-job';
import { lockJobFirst, noSuchJob } from '../lists/job-row';
import { settleJobCost } from '../ends/settle-job-cost';

export interface Deletion {
  now: Date;
  /** What others keep of a job, while it is still there and its cost is settled. */
  forget: (tx: Transaction, job: { organizationId: string; jobId: string }) => Promise<void>;
}

interface Deletable extends Pick<JobEntity, 'status' | 'agentId'> {
  agentStatus: AgentEntity['status'];
  dispatched: boolean;
}

/**
 * Removes a job and all that was kept of it, but for what was billed. One that is still open ends now, without a retry;
 * its worker is told to stop, and its machine gets nothing else until it has said that nothing of the run is left.
 */
export async function deleteJob(
  tx: Transaction,
  caller: Principal,
  id: string,
  { now, forget }: Deletion,
): Promise<void> {
  const { organizationId } = caller;
  const job = await lockAll(tx, organizationId, id);
  if (!job) throw noSuchJob();
  if (!isTerminal(job.status)) await endNow(tx, caller, id, job, now);
  // Also of one that was given up a moment ago, and of which the machine is still being cleared.
  await detachStopCommands(tx, id);
  // Also where the message of its end was not handled yet: what it cost outlives it.
  await settleJobCost(tx, id);
  await forget(tx, { organizationId, jobId: id });
  await promiseRemoval(tx, { organizationId, jobId: id, now });
  await tx.execute(
    `INSERT INTO deleted_job (job_id, organization_id, agent_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
    [id, organizationId, job.agentId],
  );
  await dropTimelineOfJob(tx, caller, id);
  // Steps, model usage, claims, the run's cost, commands and artifacts go with the row,
  // and schedules that point at it forget it.
  await tx.execute('DELETE FROM job WHERE id = $1 AND organization_id = $2', [id, organizationId]);
  audit(tx, caller, { action: 'job.delete', target: { type: 'job', id }, changes: { status: job.status } });
}

/** Whoever reports of the job holds one of these two locks while it writes, so nothing is written after this. */
async function lockAll(tx: Transaction, organizationId: string, id: string): Promise<Deletable | undefined> {
  lockJobFirst(tx, organizationId, id);
  tx.defer('SELECT FROM job_log_seen WHERE job_id = $1 FOR UPDATE', [id]);
  const [job] = await tx.query<Deletable>(
    `SELECT j.status, j.agent_id, a.status AS agent_status, j.command_id IS NOT NULL AS dispatched
     FROM job j JOIN agent a ON a.id = j.agent_id WHERE j.id = $1 AND j.organization_id = $2`,
    [id, organizationId],
  );
  return job;
}

async function endNow(tx: Transaction, caller: Principal, jobId: string, job: Deletable, now: Date): Promise<void> {
  const { organizationId } = caller;
  const { agentId, agentStatus, dispatched } = job;
  const reason = 'the job was deleted';
  const clears = dispatched && isOn(agentStatus);
  await finishJob(tx, { organizationId, jobId, to: 'cancelled', source: sourceOf(caller), error: reason, clears });
  // A machine that is not there learns with its next heartbeat that the job is over.
  if (clears) {
    const commandId = await issueStop(tx, { organizationId, agentId, jobId, reason, graceMs: 0, now });
    startCleanup(tx, agentId, commandId);
  }
}
