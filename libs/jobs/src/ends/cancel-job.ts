import { issueCommand } from '@muster/commands';
import { appendTimeline } from '@muster/timeline';
import { audit, type Principal, getCallerChannel } from '@muster/access';
import { AppError, isTerminalStatus, notFoundError } from '@muster/contracts';
import type { JobEntity, Transaction } from '@muster/database';
import { finishJob } from './finish-job';
import { buildJobEntry } from '../launch/insert-job';
import { cancelQuestions } from '../questions/close-questions';

/** Milliseconds between SIGTERM and SIGKILL when a run is stopped. */
export const stopGraceMs = 10_000;
/**
 * Milliseconds after the grace period within which an agent must answer a stop. The escalation waits half of this time
 * before each step.
 */
export const stopDeadlineMs = 60_000;

export type CancelOutcome = 'cancelled' | 'cancelling';

interface Cancellable extends Pick<JobEntity, 'id' | 'status' | 'agentId'> {
  dispatched: boolean;
  cancelling: boolean;
}

/**
 * Cancels a job. A job that was not dispatched ends immediately. A dispatched job is stopped, and ends when its agent
 * confirms that none of the job's processes is left.
 */
export async function cancelJob(
  tx: Transaction,
  caller: Principal,
  id: string,
  { reason, now }: { reason?: string; now: Date },
): Promise<CancelOutcome> {
  const { organizationId } = caller;
  const job = await lockJobForCancel(tx, organizationId, id);
  if (!job) throw notFoundError('job');
  if (isTerminalStatus(job.status))
    throw new AppError('conflict', {
      detail: `The job has already ended with the status ${job.status}, so it cannot be cancelled.`,
    });
  audit(tx, caller, { action: 'job.cancel', target: { type: 'job', id }, changes: { reason: reason ?? null } });
  return stopOrCancelJob(tx, {
    organizationId,
    jobId: id,
    job,
    source: getCallerChannel(caller),
    reason,
    now,
  });
}

async function lockJobForCancel(tx: Transaction, organizationId: string, id: string): Promise<Cancellable | undefined> {
  const [job] = await lockJobsForCancel(tx, organizationId, [id]);
  return job;
}

/**
 * Locks the jobs in the order of their ids, so that concurrent transactions cannot deadlock. Ids without a job are
 * skipped.
 */
export function lockJobsForCancel(tx: Transaction, organizationId: string, ids: string[]): Promise<Cancellable[]> {
  return tx.query<Cancellable>(
    `SELECT id, status, agent_id, command_id IS NOT NULL AS dispatched,
            cancel_requested_at IS NOT NULL AS cancelling
     FROM job WHERE id = ANY($1) AND organization_id = $2 ORDER BY id FOR UPDATE`,
    [ids, organizationId],
    'lock_jobs',
  );
}

export async function stopOrCancelJob(
  tx: Transaction,
  stop: {
    organizationId: string;
    jobId: string;
    job: Omit<Cancellable, 'id'>;
    source: 'api' | 'console' | 'watchdog';
    reason?: string;
    now: Date;
  },
): Promise<CancelOutcome> {
  const { organizationId, jobId, job, source, reason, now } = stop;
  const { agentId, status } = job;
  if (!job.dispatched || agentId === null) {
    await finishJob(tx, { organizationId, jobId, to: 'cancelled', source, error: reason ?? null });
    return 'cancelled';
  }
  if (job.cancelling) return 'cancelling';
  await tx.execute(
    `UPDATE job SET cancel_requested_at = muster_now(), cancel_reason = $2, cancel_step = 1 WHERE id = $1`,
    [jobId, reason ?? null],
  );
  await cancelQuestions(tx, { organizationId, jobId, reason: 'The run was cancelled.' });
  await issueStopCommand(tx, { organizationId, agentId, jobId, reason, graceMs: stopGraceMs, now });
  appendTimeline(tx, { organizationId, agentId }, [
    buildJobEntry({
      jobId,
      status,
      previousStatus: status,
      source,
      message: 'told to stop',
      data: { cancelling: true },
    }),
  ]);
  tx.notify('job', jobId);
  return 'cancelling';
}

export function issueStopCommand(
  tx: Transaction,
  stop: { organizationId: string; agentId: string; jobId: string; reason?: string; graceMs: number; now: Date },
): Promise<string> {
  const { organizationId, agentId, jobId, reason = null, graceMs, now } = stop;
  return issueCommand(tx, {
    organizationId,
    agentId,
    jobId,
    kind: 'stop_job',
    payload: { jobId, reason, graceMs },
    deadline: new Date(now.getTime() + stopDeadlineMs + graceMs),
  });
}
