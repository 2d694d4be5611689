import { type MicroUsd, notFoundError } from '@muster/contracts';
import { type Database, type JobStepEntity, limitPageSizeSql } from '@muster/database';
import type { Page } from '@muster/platform';

export interface StepRow extends Pick<
  JobStepEntity,
  'stepOrder' | 'stepId' | 'name' | 'status' | 'startedAt' | 'finishedAt' | 'error' | 'metadata'
> {
  costMicros: MicroUsd;
}

export async function listSteps(
  database: Database,
  organizationId: string,
  { jobId, page }: { jobId: string; page: Page },
): Promise<StepRow[]> {
  // The statement returns one row of nulls for a job without steps, and no row for an unknown job.
  const rows = await database.query<StepRow>(
    { organizationId },
    limitPageSizeSql(
      `SELECT s.step_order, s.step_id, s.name, s.status, s.started_at, s.finished_at, s.error, s.metadata,
            (SELECT COALESCE(sum(u.cost_micros), 0)::bigint FROM ai_usage u
             WHERE u.job_id = s.job_id AND u.step_order = s.step_order) AS cost_micros
     FROM job j LEFT JOIN job_step s ON s.job_id = j.id AND s.step_order > COALESCE($3, -1)
     WHERE j.id = $1 AND j.organization_id = $2
     ORDER BY s.step_order LIMIT $4`,
      { order: 'step_order', bytes: 'COALESCE(octet_length(metadata::text), 0) + COALESCE(octet_length(error), 0)' },
    ),
    [jobId, organizationId, page.after?.[0] ?? null, page.limit + 1],
  );
  if (rows.length === 0) throw notFoundError('job');
  return rows.filter(({ stepOrder }) => stepOrder !== null);
}
