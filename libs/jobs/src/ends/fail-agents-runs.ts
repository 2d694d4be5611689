import { audit, type Principal, sourceOf } from '@muster/access';
import { startCleanup } from '@muster/agents';
import type { JobEntity, Transaction } from '@muster/database';
import { issueStop } from './cancel-job';
import { finishJob } from './finish-job';

export interface RunsEnd {
  errorCode: 'agent_rebooted' | 'agent_stopped';
  error: string;
  /** The machine stays on, so its worker has to end what runs, and is given nothing before it says that it has. */
  stopNow?: Date;
}

/**
 * Ends the runs that an order to their machine ends. Each fails as such, and what it was to be retried as follows; one
 * that was being cancelled is left to that.
 */
export async function failAgentsRuns(
  tx: Transaction,
  caller: Principal,
  agentId: string,
  { errorCode, error, stopNow }: RunsEnd,
): Promise<string[]> {
  const { organizationId } = caller;
  const runs = await tx.query<Pick<JobEntity, 'id'>>(
    `SELECT j.id FROM job j LEFT JOIN agent_command c ON c.id = j.command_id
     WHERE j.agent_id = $1 AND j.organization_id = $2 AND j.cancel_requested_at IS NULL
       AND (j.status = 'running' OR (j.status = 'queued' AND (c.taken_at IS NOT NULL OR (c.id IS NOT NULL AND $3))))
     ORDER BY j.id`,
    // What was given and not taken is given again to the boot that a reboot begins.
    [agentId, organizationId, errorCode === 'agent_stopped'],
    'agents_runs',
  );
  const failed: string[] = [];
  for (const { id: jobId } of runs) {
    const ended = await finishJob(tx, {
      organizationId,
      jobId,
      to: 'failed',
      source: sourceOf(caller),
      errorCode,
      error,
      clears: stopNow !== undefined,
    });
    // It came to its own end at this moment.
    if (!ended?.applied) continue;
    failed.push(jobId);
    audit(tx, caller, { action: 'job.fail', target: { type: 'job', id: jobId }, changes: { errorCode } });
    if (!stopNow) continue;
    const stop = { organizationId, agentId, jobId, reason: error, graceMs: 0, now: stopNow };
    const commandId = await issueStop(tx, stop);
    startCleanup(tx, agentId, commandId);
  }
  return failed;
}
