import type { TerminalJobStatus } from '@muster/contracts';
import type { RowWriter, Transaction } from '@muster/database';
import { runEnded } from '../lifecycle/decide-idle-stop';

/**
 * SQL that assigns the agent to a job, as a part of the statement that starts the job. Both arguments are parameters of
 * that statement, such as `$1`.
 */
export function assignJobSql(agentId: string, jobId: string): string {
  return `UPDATE agent SET current_job_id = ${jobId}, dispatched_at = muster_now(), last_activity_at = muster_now(),
           last_activity = 'a job was assigned to it' WHERE id = ${agentId}`;
}

/**
 * SQL that marks a job's run command as acknowledged. `begun` names a CTE that has a row if the worker reports that it
 * has started the run. The job is passed as a parameter, because the plan of a join may scan all commands.
 */
export function acknowledgeRunSql({ begun, jobId }: { begun: string; jobId: string }): string {
  return `UPDATE agent_command c SET taken_at = COALESCE(c.taken_at, muster_now()), next_push_at = NULL, push_error = NULL
    FROM ${begun} WHERE c.job_id = ${jobId} AND c.kind = 'run' AND c.status = 'pending'`;
}

/**
 * Releases the agent and closes the job's pending run command in one statement, so that the command cannot be delivered
 * after the job has ended.
 */
export function releaseMachine(
  tx: Transaction,
  agentId: string,
  { jobId, to, error }: { jobId: string; to: TerminalJobStatus; error?: string | null },
): void {
  tx.deferRow(releases, [jobId, agentId, to, error ?? null]);
}

const closeCommand = (outcome: string, error: string) => `
  UPDATE agent_command
  SET status = CASE WHEN ${outcome} = 'completed' THEN 'success' ELSE 'failed' END, error = ${error}, finished_at = muster_now(),
      next_push_at = NULL, payload = payload - 'script'`;
const release = `
  UPDATE agent SET current_job_id = NULL, dispatched_at = NULL, last_activity_at = muster_now(), last_activity = '${runEnded}'`;

/** Releases the agent of each row. Several agents are locked in the order of their ids. */
const releases: RowWriter = {
  one: {
    name: 'release_agent',
    text: `WITH command AS (${closeCommand('$3', '$4')} WHERE job_id = $1 AND kind = 'run' AND status = 'pending')
      ${release} WHERE id = $2 AND current_job_id = $1`,
  },
  many: {
    name: 'release_agents',
    text: `WITH ended AS (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS e (job_id, agent_id, outcome, error)),
      command AS (
        ${closeCommand('e.outcome', 'e.error')}
        FROM ended e
        WHERE agent_command.job_id = ANY($1) AND agent_command.job_id = e.job_id AND kind = 'run' AND agent_command.status = 'pending'),
      held AS (
        SELECT a.id FROM agent a JOIN ended e ON e.agent_id = a.id AND e.job_id = a.current_job_id
        WHERE a.id = ANY($2) ORDER BY a.id FOR UPDATE OF a)
      ${release} WHERE id IN (SELECT id FROM held)`,
  },
};

/**
 * Records that a stop_job command clears the machine of the rest of a job. The agent gets no new work until the command
 * ends or the machine boots again.
 */
export function startCleanup(tx: Transaction, agentId: string, commandId: string): void {
  tx.defer('UPDATE agent SET clearing_command_id = $2 WHERE id = $1', [agentId, commandId], 'start_cleanup');
}

export async function finishCleanup(tx: Transaction, agentId: string, commandId: string): Promise<void> {
  await tx.execute('UPDATE agent SET clearing_command_id = NULL WHERE id = $1 AND clearing_command_id = $2', [
    agentId,
    commandId,
  ]);
}

/**
 * Detaches the pending stop commands from a job that is being deleted, because the commands must outlive the job. Their
 * payloads still contain the job's id.
 */
export async function detachStopCommands(tx: Transaction, jobId: string): Promise<void> {
  await tx.execute(
    `UPDATE agent_command SET job_id = NULL WHERE job_id = $1 AND kind = 'stop_job'
       AND (status = 'pending' OR id = (SELECT clearing_command_id FROM agent a WHERE a.id = agent_command.agent_id))`,
    [jobId],
  );
}

/**
 * SQL that records that the dispatch sweep checks the agents now. `ids` is a query that locks the agents and returns
 * their ids.
 */
export function markDispatchSweptSql(ids: string): string {
  return `UPDATE agent SET dispatch_swept_at = muster_now() WHERE id IN (${ids}) RETURNING id`;
}
