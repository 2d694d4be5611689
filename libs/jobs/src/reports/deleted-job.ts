import { type CallbackReason, notFoundError } from '@muster/contracts';
import type { Database, DeletedJobEntity } from '@muster/database';
import type { Reporter } from './reporter';

export interface JobIsOver {
  accepted: false;
  reason: Extract<CallbackReason, 'job_over'>;
}

export const jobIsOver: JobIsOver = { accepted: false, reason: 'job_over' };

/** Returns the response to a report about a deleted job. Throws not_found if the job never existed. */
export async function answerForDeletedJob(database: Database, reporter: Reporter, jobId: string): Promise<JobIsOver> {
  const [deleted] = await findDeletedJobs(database, reporter, [jobId]);
  if (!deleted) throw notFoundError('job');
  return jobIsOver;
}

/** Returns those of the jobs that belonged to the reporter and were deleted. */
export async function findDeletedJobs(
  database: Database,
  { organizationId, agentId }: Reporter,
  jobIds: string[],
): Promise<string[]> {
  const rows = await database.query<Pick<DeletedJobEntity, 'jobId'>>(
    { organizationId },
    `SELECT job_id FROM deleted_job
     WHERE job_id = ANY($1) AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3)`,
    [jobIds, organizationId, agentId],
    'deleted_jobs',
  );
  return rows.map(({ jobId }) => jobId);
}
