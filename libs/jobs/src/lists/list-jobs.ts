import { findAgent } from '@muster/agents';
import type { JobFilter, MicroUsd } from '@muster/contracts';
import { type Database, type JobEntity, pageWithin } from '@muster/database';
import type { Page } from '@muster/platform';
import { jobColumns, type JobRow, jobSource } from './job-row';

/** Newest first: ids are made in the order of time. */
export function listJobs(
  database: Database,
  organizationId: string,
  { page, filter }: { page: Page; filter: Omit<JobFilter, 'limit' | 'cursor'> },
): Promise<JobRow[]> {
  const conditions = ['j.organization_id = $1'];
  const values: unknown[] = [organizationId];
  const where = (sql: string, value: unknown) => {
    if (value === undefined || value === null) return;
    values.push(value);
    conditions.push(sql.replace('?', `$${values.length}`));
  };
  where('j.status = ?', filter.status);
  where('j.agent_id = ?', filter.agentId);
  where('j.workflow_id = ?', filter.workflowId);
  where('j.schedule_id = ?', filter.scheduleId);
  where('j.batch_id = ?', filter.batchId);
  where('j.queued_at >= ?', filter.from);
  where('j.queued_at < ?', filter.to);
  where('j.id < ?', page.after?.[0]);
  values.push(page.limit + 1);
  return database.query<JobRow>(
    { organizationId },
    pageWithin(
      `SELECT ${jobColumns} FROM ${jobSource} WHERE ${conditions.join(' AND ')} ORDER BY j.id DESC LIMIT $${values.length}`,
      { order: 'id DESC', bytes: `octet_length(variables::text) + COALESCE(octet_length(result::text), 0)` },
    ),
    values,
  );
}

export interface RunRow extends Pick<JobEntity, 'id' | 'status' | 'startedAt' | 'error'> {
  durationSeconds: number | null;
  aiCostMicros: MicroUsd;
  stepsTotal: number;
  stepsPassed: number;
  stepsFailed: number;
}

/** Interface 4.1: the agent's 20 most recent runs, with what their AI calls cost: what began, the latest start first. */
export async function listAgentRuns(database: Database, organizationId: string, agentId: string): Promise<RunRow[]> {
  const rows = await database.query<RunRow>(
    { organizationId },
    `SELECT j.id, j.status, j.started_at,
            EXTRACT(epoch FROM j.finished_at - j.started_at)::float8 AS duration_seconds,
            COALESCE((SELECT ai_micros FROM run_cost r WHERE r.job_id = j.id),
              (SELECT sum(u.cost_micros)::bigint FROM ai_usage u WHERE u.job_id = j.id), 0) AS ai_cost_micros,
            s.total AS steps_total, s.passed AS steps_passed, s.failed AS steps_failed, j.error
     FROM ${jobSource} WHERE j.agent_id = $1 AND j.organization_id = $2 AND j.started_at IS NOT NULL
     ORDER BY j.started_at DESC, j.id DESC LIMIT 20`,
    [agentId, organizationId],
  );
  if (rows.length === 0) await findAgent(database, organizationId, agentId);
  return rows;
}
