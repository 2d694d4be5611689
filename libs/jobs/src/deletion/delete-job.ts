import { audit, type Principal, getCallerChannel } from '@muster/access';
import { startMachineCleanup, isOnStatus } from '@muster/machines';
import { detachStopCommands, scheduleObjectRemoval } from '@muster/commands';
import { deleteTimelineOfJob } from '@muster/timeline';
import { isTerminalStatus, notFoundError } from '@muster/contracts';
import type { AgentEntity, JobEntity, Transaction } from '@muster/database';
import { issueStopCommand } from '../ends/cancel-job';
import { finishJob } from '../ends/finish-job';
import { lockJobBeforeRead } from '../lists/job-row';
import { bookJobCost } from '../ends/book-job-cost';

export interface Deletion {
  now: Date;
  /**
   * Deletes the data that other libraries store about the job. It is called before the job's row is deleted and after
   * the job's cost is booked.
   */
  forget: (tx: Transaction, job: { organizationId: string; jobId: string }) => Promise<void>;
}

interface Deletable extends Pick<JobEntity, 'status' | 'agentId'> {
  /** Agent of the job; null if no agent was chosen for the job. */
  agentStatus: AgentEntity['status'] | null;
  dispatched: boolean;
}

/**
 * Deletes a job and everything stored about it, except the billed usage. An open job ends now, without a retry. Its
 * worker must stop the run, and the machine receives no other job until the worker confirms that nothing of the run is
 * left.
 */
export async function deleteJob(
  tx: Transaction,
  caller: Principal,
  id: string,
  { now, forget }: Deletion,
): Promise<void> {
  const { organizationId } = caller;
  const job = await lockJobAndLog(tx, organizationId, id);
  if (!job) throw notFoundError('job');
  if (!isTerminalStatus(job.status)) await endOpenJob(tx, caller, id, job, now);
  // Stop commands must outlive the job's row, because one of them may still have to end processes that the failed job
  // left on the machine.
  await detachStopCommands(tx, id);
  // The cost is booked now, because the message of the job's end may not be handled yet and the cost outlives the job.
  await bookJobCost(tx, id);
  await forget(tx, { organizationId, jobId: id });
  await scheduleObjectRemoval(tx, { organizationId, jobId: id, now });
  // A job that was never sent to an agent has no worker that could report it.
  if (job.agentId) {
    await tx.execute(
      `INSERT INTO deleted_job (job_id, organization_id, agent_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`,
      [id, organizationId, job.agentId],
    );
  }
  await deleteTimelineOfJob(tx, caller, id);
  // Foreign keys cascade the deletion to the job's steps, model usage, claims, cost, commands and artifacts, and set
  // the references of schedules to null.
  await tx.execute('DELETE FROM job WHERE id = $1 AND organization_id = $2', [id, organizationId]);
  audit(tx, caller, { action: 'job.delete', target: { type: 'job', id }, changes: { status: job.status } });
}

/**
 * Locks the job and its log. Every report about a job locks one of the two before it writes, so no report is written
 * after this.
 */
async function lockJobAndLog(tx: Transaction, organizationId: string, id: string): Promise<Deletable | undefined> {
  lockJobBeforeRead(tx, organizationId, id);
  tx.deferStatement('SELECT FROM job_log_seen WHERE job_id = $1 FOR UPDATE', [id]);
  const [job] = await tx.query<Deletable>(
    `SELECT j.status, j.agent_id, a.status AS agent_status, j.command_id IS NOT NULL AS dispatched
     FROM job j LEFT JOIN agent a ON a.id = j.agent_id WHERE j.id = $1 AND j.organization_id = $2`,
    [id, organizationId],
  );
  return job;
}

async function endOpenJob(tx: Transaction, caller: Principal, jobId: string, job: Deletable, now: Date): Promise<void> {
  const { organizationId } = caller;
  const { agentId, agentStatus, dispatched } = job;
  const reason = 'the job was deleted';
  const clears = dispatched && agentStatus !== null && isOnStatus(agentStatus);
  await finishJob(tx, {
    organizationId,
    jobId,
    to: 'cancelled',
    source: getCallerChannel(caller),
    error: reason,
    clears,
  });
  // An agent that is not online needs no stop command: the response to its next heartbeat tells the worker to end the
  // run.
  if (clears && agentId) {
    const commandId = await issueStopCommand(tx, { organizationId, agentId, jobId, reason, graceMs: 0, now });
    startMachineCleanup(tx, agentId, commandId);
  }
}
