import type { Transaction } from '@muster/database';
import { runEnded } from './activity';

/**
 * SQL that assigns agents to jobs, as a part of the statement that starts the jobs. `starts` is a table expression for
 * rows `input` (agent_id, job_id). The caller has locked the agents.
 */
export function assignJobsToMachinesSql(starts: string): string {
  return `UPDATE agent SET current_job_id = input.job_id, dispatched_at = muster_now(), last_activity_at = muster_now(),
           last_activity = 'a job was assigned to it' FROM ${starts} WHERE agent.id = input.agent_id`;
}

const release = `
  UPDATE agent SET current_job_id = NULL, dispatched_at = NULL, last_activity_at = muster_now(), last_activity = '${runEnded}'`;

/**
 * SQL that releases the agent from a job, as a part of the statement that closes the job's run command. Both arguments
 * are parameters of that statement. An agent that has another job is not changed.
 */
export function releaseMachineOfJobSql(agentId: string, jobId: string): string {
  return `${release} WHERE id = ${agentId} AND current_job_id = ${jobId}`;
}

/**
 * Like `releaseMachineOfJobSql` for several jobs: the rows (job_id, agent_id) of the CTE `ended`. `agentIds` is a parameter with
 * the ids of the agents, which are locked in their order.
 */
export function releaseMachinesOfJobsSql({ ended, agentIds }: { ended: string; agentIds: string }): string {
  return `${release} WHERE id IN (
    SELECT a.id FROM agent a JOIN ${ended} ON ${ended}.agent_id = a.id AND ${ended}.job_id = a.current_job_id
    WHERE a.id = ANY(${agentIds}) ORDER BY a.id FOR UPDATE OF a)`;
}

/**
 * Records that a stop_job command clears the machine of the rest of a job. The agent gets no new work until the command
 * ends or the machine boots again.
 */
export function startMachineCleanup(tx: Transaction, agentId: string, commandId: string): void {
  tx.deferStatement('UPDATE agent SET clearing_command_id = $2 WHERE id = $1', [agentId, commandId], 'start_cleanup');
}

export async function finishMachineCleanup(tx: Transaction, agentId: string, commandId: string): Promise<void> {
  await tx.execute('UPDATE agent SET clearing_command_id = NULL WHERE id = $1 AND clearing_command_id = $2', [
    agentId,
    commandId,
  ]);
}

/**
 * SQL that records that the dispatch sweep checks the agents now. `ids` is a query that locks the agents and returns
 * their ids.
 */
export function markAgentsSweptSql(ids: string): string {
  return `UPDATE agent SET dispatch_swept_at = muster_now() WHERE id IN (${ids}) RETURNING id`;
}
