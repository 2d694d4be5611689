import { audit, type Principal, getCallerChannel } from '@muster/access';
import { startMachineCleanup } from '@muster/machines';
import type { JobEntity, Transaction } from '@muster/database';
import { issueStopCommand } from './cancel-job';
import { finishJob } from './finish-job';

export interface RunsEnd {
  errorCode: 'agent_rebooted' | 'agent_stopped';
  error: string;
  /**
   * Set to the current time if the machine stays on. Then its worker must end the runs, and the agent receives no job
   * before the worker confirms their end.
   */
  stopNow?: Date;
}

/**
 * Fails the runs on a machine that is being stopped, rebooted or terminated. The failed runs are retried as usual. A
 * run that is being cancelled is not changed, because its cancel ends it.
 */
export async function failRunsOfAgent(
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
    // A reboot does not fail a run whose command was not acknowledged, because the command is delivered to the next
    // boot.
    [agentId, organizationId, errorCode === 'agent_stopped'],
    'agents_runs',
  );
  const failed: string[] = [];
  for (const { id: jobId } of runs) {
    const ended = await finishJob(tx, {
      organizationId,
      jobId,
      to: 'failed',
      source: getCallerChannel(caller),
      errorCode,
      error,
      clears: stopNow !== undefined,
    });
    // The run is skipped, because another transaction has ended it concurrently.
    if (!ended?.applied) continue;
    failed.push(jobId);
    audit(tx, caller, { action: 'job.fail', target: { type: 'job', id: jobId }, changes: { errorCode } });
    if (!stopNow) continue;
    const stop = { organizationId, agentId, jobId, reason: error, graceMs: 0, now: stopNow };
    const commandId = await issueStopCommand(tx, stop);
    startMachineCleanup(tx, agentId, commandId);
  }
  return failed;
}

/**
 * Locks the runs that `failRunsOfAgent` may end. The dispatcher may start another run before the caller locks the
 * agent; `failRunsOfAgent` locks such a run after the agent.
 */
export function lockRunsOfAgent(tx: Transaction, { organizationId }: Principal, agentId: string): void {
  tx.deferStatement(
    `SELECT FROM job WHERE agent_id = $1 AND organization_id = $2
       AND (status = 'running' OR (status = 'queued' AND command_id IS NOT NULL)) ORDER BY id FOR UPDATE`,
    [agentId, organizationId],
    'lock_agents_runs',
  );
}
