import type { TerminalJobStatus } from '@muster/contracts';
import type { RowStatement, Transaction } from '@muster/database';
import { releaseMachinesOfJobsSql, releaseMachineOfJobSql } from '@muster/machines';

/** SQL that marks the run commands of begun jobs as acknowledged. `commandIds` is a subquery. */
export function acknowledgeRunsSql(commandIds: string): string {
  return `UPDATE agent_command SET taken_at = COALESCE(taken_at, muster_now()), next_push_at = NULL, push_error = NULL
    WHERE id = ANY(ARRAY(${commandIds})) AND status = 'pending'`;
}

/**
 * Releases the agent and closes the job's pending run command in one statement, so that the command cannot be delivered
 * after the job has ended.
 */
export function releaseMachineAndEndCommand(
  tx: Transaction,
  agentId: string,
  { jobId, to, error }: { jobId: string; to: TerminalJobStatus; error?: string | null },
): void {
  tx.deferRow(releases, [jobId, agentId, to, error ?? null]);
}

const endRunCommandSql = (outcome: string, error: string) => `
  UPDATE agent_command
  SET status = CASE WHEN ${outcome} = 'completed' THEN 'success' ELSE 'failed' END, error = ${error}, finished_at = muster_now(),
      next_push_at = NULL, payload = payload - 'script'`;

/** Ends the pending run command of the job in each row, and releases the job's agent. */
const releases: RowStatement = {
  one: {
    name: 'release_agent',
    text: `WITH command AS (${endRunCommandSql('$3', '$4')} WHERE job_id = $1 AND kind = 'run' AND status = 'pending')
      ${releaseMachineOfJobSql('$2', '$1')}`,
  },
  many: {
    name: 'release_agents',
    text: `WITH ended AS (
        SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[]) AS e (job_id, agent_id, outcome, error)),
      command AS (
        ${endRunCommandSql('ended.outcome', 'ended.error')}
        FROM ended
        WHERE agent_command.job_id = ANY($1) AND agent_command.job_id = ended.job_id AND kind = 'run'
          AND agent_command.status = 'pending')
      ${releaseMachinesOfJobsSql({ ended: 'ended', agentIds: '$2' })}`,
  },
};

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
