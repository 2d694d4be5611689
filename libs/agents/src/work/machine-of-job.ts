import type { TerminalJobStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { runEnded } from '../lifecycle/decide-idle-stop';

/** For the statement that starts a job: from now on the job has the machine. Both are parameters of it, as `$1`. */
export function takeMachine(agentId: string, jobId: string): string {
  return `UPDATE agent SET current_job_id = ${jobId}, dispatched_at = muster_now(), last_activity_at = muster_now(),
           last_activity = 'a job was given to it' WHERE id = ${agentId}`;
}

/**
 * For a statement whose `begun` has a row where the job's worker says that it has begun it: so it has the command. The
 * job is said by a parameter, because a plan that joins it may walk all commands there are.
 */
export function markRunTaken({ begun, jobId }: { begun: string; jobId: string }): string {
  return `UPDATE agent_command c SET taken_at = COALESCE(c.taken_at, muster_now()), next_push_at = NULL, push_error = NULL
    FROM ${begun} WHERE c.job_id = ${jobId} AND c.kind = 'run' AND c.status = 'pending'`;
}

/** The machine is free again, and what was to start or to be started of the job is over. */
export function releaseMachine(
  tx: Transaction,
  agentId: string,
  { jobId, to, error }: { jobId: string; to: TerminalJobStatus; error?: string | null },
): void {
  tx.defer(
    `WITH command AS (
       UPDATE agent_command
       SET status = CASE WHEN $3 = 'completed' THEN 'success' ELSE 'failed' END, error = $4, finished_at = muster_now(),
           next_push_at = NULL, payload = payload - 'script'
       WHERE job_id = $1 AND kind = 'run' AND status = 'pending')
     UPDATE agent SET current_job_id = NULL, dispatched_at = NULL, last_activity_at = muster_now(),
       last_activity = '${runEnded}'
     WHERE id = $2 AND current_job_id = $1`,
    [jobId, agentId, to, error ?? null],
    'release_agent',
  );
}

/** What is left of a job is being killed on it: it is given nothing before that command is over, or its next boot. */
export function beginClearing(tx: Transaction, agentId: string, commandId: string): void {
  tx.defer('UPDATE agent SET clearing_command_id = $2 WHERE id = $1', [agentId, commandId], 'clear_agent');
}

export async function endClearing(tx: Transaction, agentId: string, commandId: string): Promise<void> {
  await tx.execute('UPDATE agent SET clearing_command_id = NULL WHERE id = $1 AND clearing_command_id = $2', [
    agentId,
    commandId,
  ]);
}

/** The job is being deleted. The order to stop it outlives it; which job it means stands in its payload. */
export async function keepStopOrders(tx: Transaction, jobId: string): Promise<void> {
  await tx.execute(
    `UPDATE agent_command SET job_id = NULL WHERE job_id = $1 AND kind = 'stop_job'
       AND (status = 'pending' OR id = (SELECT clearing_command_id FROM agent a WHERE a.id = agent_command.agent_id))`,
    [jobId],
  );
}

/** For a sweep's statement: of the agents that `ids` (a query that locks them) answers each is looked at now. */
export function markSwept(ids: string): string {
  return `UPDATE agent SET dispatch_swept_at = muster_now() WHERE id IN (${ids}) RETURNING id`;
}
