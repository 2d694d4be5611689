import { finishCleanup, moveAgent } from '@muster/agents';
import {
  type AgentCommandEntity,
  type AgentEntity,
  type Database,
  type JobEntity,
  lock,
  type Transaction,
} from '@muster/database';
import { finishJob } from './finish-job';

interface Answered
  extends
    Pick<AgentCommandEntity, 'organizationId' | 'agentId' | 'jobId' | 'status' | 'output'>,
    Pick<AgentEntity, 'provider'>,
    Pick<JobEntity, 'cancelReason'> {
  cancelling: boolean;
  /** The agent is given nothing before this. */
  clearing: boolean;
}

/**
 * A stop was answered, or was not in time. Where nothing of the job runs any more, a job that was to end is cancelled
 * now, and the machine of one that was given up is free again.
 */
export async function confirmStop(database: Database, commandId: string): Promise<void> {
  await database.transaction('system', async (tx) => {
    const [command] = await tx.query<Answered>(
      `SELECT c.organization_id, c.agent_id, a.provider, c.job_id, c.status, c.output, j.cancel_reason,
              COALESCE(j.cancel_requested_at IS NOT NULL AND j.status IN ('queued', 'running'), false) AS cancelling,
              COALESCE(a.clearing_command_id = c.id, false) AS clearing
       FROM agent_command c LEFT JOIN job j ON j.id = c.job_id JOIN agent a ON a.id = c.agent_id
       WHERE c.id = $1 AND c.kind = 'stop_job' AND c.status <> 'pending'`,
      [commandId],
    );
    if (!command) return;
    const { organizationId, jobId, cancelReason, cancelling, clearing } = command;
    const isOver = nothingRemains(command);
    if (clearing) await clear(tx, commandId, command, isOver);
    if (jobId === null || !cancelling || !isOver) return;
    await lock(tx, 'stop', jobId);
    await finishJob(tx, { organizationId, jobId, to: 'cancelled', source: 'dispatcher', error: cancelReason });
  });
}

/** A machine on which something may be left begins anew. What only its owner can restart has its worker's word alone. */
async function clear(
  tx: Transaction,
  commandId: string,
  { organizationId, agentId, provider }: Answered,
  isOver: boolean,
): Promise<void> {
  if (!isOver && provider !== 'external') {
    const reason = 'the agent did not confirm that all processes of its last job have ended';
    const of = { organizationId, agentId };
    const moved = await moveAgent(tx, { ...of, move: 'recovery_reboot', to: 'rebooting', source: 'watchdog', reason });
    if (moved) await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
    // Its new boot, or its end, clears it.
    if (moved) return;
  }
  await finishCleanup(tx, agentId, commandId);
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
}

function nothingRemains({ status, output }: Pick<Answered, 'status' | 'output'>): boolean {
  if (status !== 'success' || !output) return false;
  try {
    return (JSON.parse(output) as { remaining?: unknown } | null)?.remaining === 0;
  } catch {
    return false;
  }
}
