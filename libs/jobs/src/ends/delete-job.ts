import { audit, type Principal } from '@muster/access';
import { dropTimelineOfJob } from '@muster/agents';
import { AppError, isTerminal, type JobStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { noSuchJob } from '../lists/job-row';

/** Removes an ended job and all that was kept of it, but for what was billed. Answers the keys of its stored files. */
export async function deleteJob(tx: Transaction, caller: Principal, id: string): Promise<{ storageKeys: string[] }> {
  const { organizationId } = caller;
  const [job] = await tx.query<{ status: JobStatus; agentId: string }>(
    `SELECT status, agent_id AS "agentId" FROM job WHERE id = $1 AND organization_id = $2 FOR UPDATE`,
    [id, organizationId],
  );
  if (!job) throw noSuchJob();
  if (!isTerminal(job.status)) {
    throw new AppError('conflict', { detail: `The job is ${job.status}; cancel it first.` });
  }
  const files = await tx.query<{ key: string }>('SELECT storage_key AS key FROM artifact WHERE job_id = $1', [id]);
  await dropTimelineOfJob(tx, caller, id);
  // Steps, AI usage, claims, costs, commands and artifacts go with the row.
  await tx.execute('DELETE FROM job WHERE id = $1', [id]);
  audit(tx, caller, { action: 'job.delete', target: { type: 'job', id }, changes: { status: job.status } });
  return { storageKeys: files.map(({ key }) => key) };
}
