import { offStatuses } from '@muster/machines';
import type { AgentStatus } from '@muster/contracts';
import type { AgentEntity, Database, JobEntity } from '@muster/database';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';
import { finishJob } from './finish-job';

/**
 * Statuses of an agent whose machine is off or has not reported since it was off. No process of an earlier boot is
 * running on such a machine.
 */
const silentSinceOff: readonly AgentStatus[] = [...offStatuses, 'starting'];

/**
 * Cancels the jobs that are being cancelled on a machine that is off. Each cancelled job's end enqueues the agent's
 * next job. The jobs are locked before their agent, in the order of `docs/locks.md`.
 */
export async function cancelJobsOfStoppedAgent(database: Database, agentId: string): Promise<{ cancelled: number }> {
  return database.transaction('system', async (tx) => {
    // A machine that is off gives back the keys and accounts of the run of which it was being cleared.
    const [stopped] = await tx.query<Pick<AgentEntity, 'organizationId'>>(
      'SELECT organization_id FROM agent WHERE id = $1',
      [agentId],
    );
    if (stopped) enqueuePlacementOfJobs(tx, stopped.organizationId);
    const jobs = await tx.query<Pick<JobEntity, 'id'> & { reason: JobEntity['cancelReason'] }>(
      `SELECT id, cancel_reason AS reason FROM job
       WHERE agent_id = $1 AND cancel_requested_at IS NOT NULL AND status IN ('queued', 'running') ORDER BY id FOR UPDATE`,
      [agentId],
    );
    if (jobs.length === 0) return { cancelled: 0 };
    const [agent] = await tx.query<Pick<AgentEntity, 'organizationId' | 'status'>>(
      'SELECT organization_id, status FROM agent WHERE id = $1 FOR UPDATE',
      [agentId],
    );
    if (!agent || !silentSinceOff.includes(agent.status)) return { cancelled: 0 };
    const { organizationId } = agent;
    for (const { id, reason } of jobs) {
      await finishJob(tx, { organizationId, jobId: id, to: 'cancelled', source: 'dispatcher', error: reason });
    }
    return { cancelled: jobs.length };
  });
}
