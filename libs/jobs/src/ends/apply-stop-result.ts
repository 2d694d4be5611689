import { finishMachineCleanup, setAgentStatus } from '@muster/machines';
import {
  type AgentCommandEntity,
  type AgentEntity,
  type Database,
  type JobEntity,
  acquireAdvisoryLock,
  type Transaction,
} from '@muster/database';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';
import { finishJob } from './finish-job';

interface Answered
  extends
    Pick<AgentCommandEntity, 'organizationId' | 'agentId' | 'jobId' | 'status' | 'output'>,
    Pick<AgentEntity, 'provider'>,
    Pick<JobEntity, 'cancelReason'> {
  cancelling: boolean;
  /**
   * Whether this command clears the agent of an ended job, so that the agent receives no job before the command has
   * ended.
   */
  clearing: boolean;
}

/**
 * Handles a stop command that the agent answered or that expired. If no process of the job is left, a job that is being
 * cancelled ends now, and a machine whose last job has already ended becomes free.
 */
export async function applyStopResult(database: Database, commandId: string): Promise<void> {
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
    const isOver = reportsNoProcesses(command);
    if (clearing) await endCleanupOfAgent(tx, commandId, command, isOver);
    if (jobId === null || !cancelling || !isOver) return;
    await acquireAdvisoryLock(tx, 'stop', jobId);
    await finishJob(tx, { organizationId, jobId, to: 'cancelled', source: 'dispatcher', error: cancelReason });
  });
}

/**
 * Frees a machine after the removal of the processes that its last job left. If processes may still be left, the
 * machine is rebooted. An external machine cannot be rebooted by the service, so it becomes free anyway.
 */
async function endCleanupOfAgent(
  tx: Transaction,
  commandId: string,
  { organizationId, agentId, provider }: Answered,
  isOver: boolean,
): Promise<void> {
  if (!isOver && provider !== 'external') {
    const reason = 'the agent did not confirm that all processes of its last job have ended';
    const agentRef = { organizationId, agentId };
    const isRebooting = await setAgentStatus(tx, {
      ...agentRef,
      move: 'recovery_reboot',
      to: 'rebooting',
      source: 'watchdog',
      reason,
    });
    if (isRebooting) await tx.enqueue({ queue: 'dispatch', name: 'control-agent', payload: { agentId } });
    // The machine becomes free with the handshake of its new boot, or it is terminated.
    if (isRebooting) return;
  }
  await finishMachineCleanup(tx, agentId, commandId);
  await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
  // The end of the cleanup gives back the keys and accounts of the run.
  enqueuePlacementOfJobs(tx, organizationId);
}

function reportsNoProcesses({ status, output }: Pick<Answered, 'status' | 'output'>): boolean {
  if (status !== 'success' || !output) return false;
  try {
    return (JSON.parse(output) as { remaining?: unknown } | null)?.remaining === 0;
  } catch {
    return false;
  }
}
