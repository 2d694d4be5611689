import type { LifecycleSource } from '@muster/contracts';
import type { JobEntity, Transaction } from '@muster/database';
import { bookFreeRuns, type EndedRun, recordRunUsage } from '@muster/pricing';
import { emitEvent } from '@muster/webhooks';
import { releaseAccounts } from '../accounts/borrow-accounts';
import { releaseConcurrencyKeys } from '../dispatch/concurrency-keys';
import { getEndErrorCode } from './finish-job';
import { buildEndEntry } from '../launch/insert-job';
import { recordJobEntries } from '../launch/record-job-entry';

interface Ended extends Pick<JobEntity, 'agentId' | 'batchId' | 'workflowId'> {
  jobId: JobEntity['id'];
  finishedAt: NonNullable<JobEntity['finishedAt']>;
  /** Whether the job costs nothing: it never started, and neither a cost nor model usage was reported. */
  isFree: boolean;
  /** Whether the job has concurrency keys. */
  keyed: boolean;
  /** Whether the job requests accounts. */
  borrows: boolean;
}

/**
 * SQL condition: the job costs nothing. It is a subquery and not a join with `job`, because without statistics about a
 * new batch Postgres would compare each job with each usage row.
 */
const isFree = `(reported_cost_micros IS NULL AND NOT EXISTS (SELECT FROM ai_usage u WHERE u.job_id = job.id))`;

/**
 * Cancels jobs that were never dispatched, with the same effects as finishJob and a cost of 0. The number of statements
 * does not depend on the number of jobs or agents. Returns the number of cancelled jobs.
 */
export async function cancelWaitingJobs(
  tx: Transaction,
  { organizationId, ids, source, reason }: CancelWaiting,
): Promise<number> {
  if (ids.length === 0) return 0;
  const ended = await tx.query<Ended>(
    `UPDATE job SET status = 'cancelled', finished_at = muster_now(), billed_at = muster_now(), error = $3,
       error_code = $4, waiting_reason = NULL, waiting_since = NULL,
       total_cost_micros = CASE WHEN ${isFree} THEN 0 END,
       reserved_micros = CASE WHEN ${isFree} THEN 0 ELSE reserved_micros END
     WHERE id = ANY($1) AND organization_id = $2 AND status = 'queued' AND command_id IS NULL AND billed_at IS NULL
     RETURNING id AS job_id, agent_id, workflow_id, batch_id, finished_at, total_cost_micros IS NOT NULL AS is_free,
       concurrency_keys IS NOT NULL AS keyed, accounts IS NOT NULL AS borrows`,
    [ids, organizationId, reason ?? null, getEndErrorCode({ to: 'cancelled' })],
  );
  if (ended.length === 0) return 0;
  const keyed = ended.filter((job) => job.keyed).map(({ jobId }) => jobId);
  if (keyed.length) await releaseConcurrencyKeys(tx, organizationId, keyed);
  const borrowing = ended.filter((job) => job.borrows).map(({ jobId }) => jobId);
  if (borrowing.length) await releaseAccounts(tx, organizationId, borrowing);
  const steps = { percent: null, stepsTotal: 0, stepsPassed: 0, stepsFailed: 0 };
  recordJobEntries(
    tx,
    ended.map(({ jobId, agentId, workflowId }) => ({
      organizationId,
      agentId,
      workflowId,
      jobId,
      entry: buildEndEntry({ jobId, status: 'cancelled', previousStatus: 'queued', error: reason, source, steps }),
    })),
  );
  const subjects = ended.map(({ jobId }) => ({ id: jobId, details: { status: 'cancelled' as const } }));
  emitEvent(tx, { organizationId, type: 'job.cancelled', subjects });
  await enqueueDispatchOfAgents(
    tx,
    ended.flatMap(({ agentId }) => agentId ?? []),
  );
  const metered = selectJobsBookedByMessage(ended);
  const free = ended.filter((job) => !metered.has(job));
  const toEndedRun = ({ jobId, finishedAt }: Ended): EndedRun => ({
    jobId,
    outcome: 'cancelled',
    startedAt: null,
    finishedAt,
  });
  recordRunUsage(tx, organizationId, [...metered].map(toEndedRun));
  await tx.enqueue(
    ...[...metered].map(({ jobId }) => ({
      queue: 'metering' as const,
      name: 'job-finished' as const,
      payload: { jobId },
    })),
  );
  await bookFreeRuns(tx, organizationId, free.map(toEndedRun));
  return ended.length;
}

/** Enqueues the agents that still have queued jobs, because the cancelled jobs may have been ahead of these. */
async function enqueueDispatchOfAgents(tx: Transaction, agentIds: string[]): Promise<void> {
  if (agentIds.length === 0) return;
  const waited = await tx.query<{ agentId: string }>(
    `SELECT DISTINCT agent_id FROM job j
     WHERE agent_id = ANY($1) AND status = 'queued' AND not_before <= muster_now()
       AND NOT EXISTS (SELECT FROM batch b WHERE b.id = j.batch_id AND b.cancel_requested_at IS NOT NULL)`,
    [[...new Set(agentIds)]],
    'queues_after_cancel',
  );
  await tx.enqueue(
    ...waited.map(({ agentId }) => ({
      queue: 'dispatch' as const,
      name: 'dispatch-agent' as const,
      payload: { agentId },
    })),
  );
}

/**
 * Returns the jobs whose cost is booked by a message of their own: jobs that may cost something, and one job of each
 * batch. The message is handled after this commit, so its handler can check whether the batch has ended.
 */
function selectJobsBookedByMessage(ended: Ended[]): Set<Ended> {
  const onePerBatch = new Map(ended.filter(({ batchId }) => batchId !== null).map((job) => [job.batchId, job]));
  return new Set([...ended.filter(({ isFree }) => !isFree), ...onePerBatch.values()]);
}

interface CancelWaiting {
  organizationId: string;
  ids: string[];
  source: LifecycleSource;
  reason?: string;
}
