import { appendTimeline } from '@muster/agents';
import type { LifecycleSource } from '@muster/contracts';
import type { JobEntity, Transaction } from '@muster/database';
import { recordRuns } from '@muster/pricing';
import { emitEvent } from '@muster/webhooks';
import { jobEntry } from '../launch/insert-job';
import { progressOf } from '../lists/job-progress';

interface Ended extends Pick<JobEntity, 'agentId'> {
  jobId: JobEntity['id'];
  finishedAt: NonNullable<JobEntity['finishedAt']>;
}

/**
 * As finishJob ends one, for many that were never given to an agent: cancelled, with all that their ends owe, in
 * statements for all of them (and one for each agent's timeline). Answers how many that were.
 */
export async function cancelWaitingJobs(
  tx: Transaction,
  { organizationId, ids, source, reason }: CancelWaiting,
): Promise<number> {
  if (ids.length === 0) return 0;
  const ended = await tx.query<Ended>(
    `UPDATE job SET status = 'cancelled', finished_at = now(), billed_at = now(), error = $3,
       waiting_reason = NULL, waiting_since = NULL
     WHERE id = ANY($1) AND organization_id = $2 AND status = 'queued' AND command_id IS NULL AND billed_at IS NULL
     RETURNING id AS job_id, agent_id, finished_at`,
    [ids, organizationId, reason ?? null],
  );
  recordRuns(
    tx,
    organizationId,
    ended.map(({ jobId, finishedAt }) => ({ jobId, outcome: 'cancelled', startedAt: null, finishedAt })),
  );
  const none = { percent: null, currentStep: null, stepsTotal: 0, stepsPassed: 0, stepsFailed: 0 };
  const progress = progressOf({ ...none, status: 'cancelled' });
  const message = reason ? `cancelled: ${reason.slice(0, 500)}` : 'cancelled';
  // In one order for everybody who writes on several timelines.
  for (const agentId of [...new Set(ended.map((job) => job.agentId))].sort()) {
    const jobs = ended.filter((job) => job.agentId === agentId);
    const entries = jobs.map(({ jobId }) =>
      jobEntry({ jobId, status: 'cancelled', previousStatus: 'queued', message, source, progress }),
    );
    appendTimeline(tx, { organizationId, agentId }, entries);
    await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
  }
  for (const { jobId } of ended) tx.notify('job', jobId);
  emitEvent(tx, { organizationId, type: 'job.cancelled', of: ended.map(({ jobId }) => ({ id: jobId })) });
  await tx.enqueue(
    ...ended.map(({ jobId }) => ({
      queue: 'metering' as const,
      name: 'job-finished' as const,
      payload: { jobId },
    })),
  );
  return ended.length;
}

interface CancelWaiting {
  organizationId: string;
  ids: string[];
  source: LifecycleSource;
  reason?: string;
}
