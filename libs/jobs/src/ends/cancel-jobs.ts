import type { Principal } from '@muster/access';
import { type CancelJobsBody, invalidFieldError, isTerminalStatus } from '@muster/contracts';
import type { JobEntity, Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { audit, getCallerChannel } from '@muster/access';
import { cancelWaitingJobs } from './cancel-waiting-jobs';
import { lockJobsForCancel, stopOrCancelJob } from './cancel-job';

const batchLimit = 1000;

export interface CancelCounts {
  cancelled: number;
  cancelling: number;
  skipped: number;
}

/** Cancels jobs by their ids or by a filter; a filter selects at most 1,000 jobs, oldest first. */
export async function cancelJobs(
  tx: Transaction,
  caller: Principal,
  { ids, filter, reason }: CancelJobsBody,
  now: Date,
): Promise<CancelCounts> {
  if ((ids === undefined) === (filter === undefined)) {
    throw invalidFieldError('ids', 'either ids or filter is required', 'Specify either ids or filter.');
  }
  const { organizationId } = caller;
  if (filter && Object.values(filter).every((value) => value === undefined)) {
    throw invalidFieldError(
      'filter',
      'filter must have at least one field',
      'filter must have at least one field; an empty filter would cancel every job of the organization.',
    );
  }
  const chosen = ids ?? (await findMatchingJobIds(tx, organizationId, filter!));
  const source = getCallerChannel(caller);
  const counts = await stopOrCancelJobs(tx, { organizationId, ids: chosen, source, reason, now });
  audit(tx, caller, {
    action: 'job.cancel_many',
    target: { type: 'organization', id: organizationId },
    changes: { ...counts, reason: reason ?? null, ...(filter ? { filter } : {}) },
  });
  return counts;
}

/** Cancels the open jobs and counts the others as skipped. */
export async function stopOrCancelJobs(
  tx: Transaction,
  stop: { organizationId: string; ids: string[]; source: 'api' | 'console'; reason?: string; now: Date },
): Promise<CancelCounts> {
  const { organizationId, ids, ...how } = stop;
  const counts: CancelCounts = { cancelled: 0, cancelling: 0, skipped: 0 };
  const requested = new Set(ids);
  const jobs = await lockJobsForCancel(tx, organizationId, [...requested].filter(isUuid));
  const open = jobs.filter(({ status }) => !isTerminalStatus(status));
  const waiting = open.filter(({ dispatched }) => !dispatched).map(({ id }) => id);
  for (const { id: jobId, ...job } of open) {
    if (job.dispatched) counts[await stopOrCancelJob(tx, { organizationId, jobId, job, ...how })] += 1;
  }
  counts.cancelled = await cancelWaitingJobs(tx, { organizationId, ids: waiting, ...how });
  counts.skipped = requested.size - counts.cancelled - counts.cancelling;
  return counts;
}

async function findMatchingJobIds(
  tx: Transaction,
  organizationId: string,
  filter: NonNullable<CancelJobsBody['filter']>,
): Promise<string[]> {
  const rows = await tx.query<Pick<JobEntity, 'id'>>(
    `SELECT id FROM job
     WHERE organization_id = $1 AND status IN ('queued', 'running') AND cancel_requested_at IS NULL
       AND ($2::uuid IS NULL OR agent_id = $2) AND ($3::uuid IS NULL OR workflow_id = $3)
       AND ($4::uuid IS NULL OR schedule_id = $4) AND ($5::uuid IS NULL OR batch_id = $5)
       AND ($6::text IS NULL OR status = $6)
     ORDER BY id LIMIT $7`,
    [
      organizationId,
      filter.agentId ?? null,
      filter.workflowId ?? null,
      filter.scheduleId ?? null,
      filter.batchId ?? null,
      filter.status ?? null,
      batchLimit,
    ],
  );
  return rows.map(({ id }) => id);
}
