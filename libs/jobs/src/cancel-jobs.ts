import type { Principal } from '@muster/access';
import { AppError, type CancelJobsBody, isTerminal } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { audit } from '@muster/access';
import { lockJob, stopJob } from './cancel-job';

const batchLimit = 1000;

export interface CancelCounts {
  cancelled: number;
  cancelling: number;
  skipped: number;
}

/** Ends many jobs at once, by their ids or by what they have in common; at most 1,000, oldest first. */
export async function cancelJobs(
  tx: Transaction,
  caller: Principal,
  { ids, filter, reason }: CancelJobsBody,
  now: Date,
): Promise<CancelCounts> {
  if ((ids === undefined) === (filter === undefined)) {
    throw new AppError('invalid_payload', {
      detail: 'Give either ids or filter.',
      errors: [{ field: 'ids', message: 'either ids or filter must be given' }],
    });
  }
  const { organizationId } = caller;
  if (filter && Object.values(filter).every((value) => value === undefined)) {
    throw new AppError('invalid_payload', {
      detail: 'filter must name something; every job of the organization is too many to mean.',
      errors: [{ field: 'filter', message: 'filter must have at least one field' }],
    });
  }
  const chosen = ids ?? (await matching(tx, organizationId, filter!));
  const counts: CancelCounts = { cancelled: 0, cancelling: 0, skipped: 0 };
  const source = caller.kind === 'user' ? 'console' : 'api';
  for (const jobId of [...new Set(chosen)].sort()) {
    const job = isUuidLike(jobId) ? await lockJob(tx, organizationId, jobId) : undefined;
    if (!job || isTerminal(job.status)) counts.skipped += 1;
    else counts[await stopJob(tx, { organizationId, jobId, job, source, reason, now })] += 1;
  }
  audit(tx, caller, {
    action: 'job.cancel_many',
    target: { type: 'organization', id: organizationId },
    changes: { ...counts, reason: reason ?? null, ...(filter ? { filter } : {}) },
  });
  return counts;
}

async function matching(
  tx: Transaction,
  organizationId: string,
  filter: NonNullable<CancelJobsBody['filter']>,
): Promise<string[]> {
  const rows = await tx.query<{ id: string }>(
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

function isUuidLike(id: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id);
}
