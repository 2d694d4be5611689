import { findAgent } from '@muster/machines';
import type { JobSort, MicroUsd } from '@muster/contracts';
import { type Database, type JobEntity, limitPageSizeSql, scanRowsSql } from '@muster/database';
import type { Page } from '@muster/platform';
import { type JobFilters, buildIndexedConditions, buildRowConditions } from './job-filters';
import { jobBytesSql, jobColumns, jobSource, type ListedJob } from './job-row';
import { type JobSorting, listSortedJobs, parseJobSorting } from './list-sorted-jobs';

/** Lists jobs, by default the newest first, because ids increase with time. */
export function listJobs(
  database: Database,
  organizationId: string,
  { page, filter, sort = '-queuedAt' }: { page: Page; filter: JobFilters; sort?: JobSort },
): Promise<ListedJob[]> {
  const sorting = parseJobSorting(sort);
  if (sorting.kind !== 'queued') return listSortedJobs(database, organizationId, { page, filter, sorting });
  const { descends } = sorting;
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const range = buildIndexedConditions(filter, addParameter);
  if (page.after) range.push(`id ${descends ? '<' : '>'} ${addParameter(page.after[0])}`);
  const order = `id ${descends ? 'DESC' : 'ASC'}`;
  const listed = scanRowsSql({
    from: 'job',
    columns: 'id',
    within: range,
    filter: buildRowConditions(filter, addParameter),
    order,
    limit: addParameter(page.limit + 1),
  });
  return database.query<ListedJob>(
    { organizationId },
    limitPageSizeSql(
      `SELECT ${jobColumns}, p.matches, p.scan_end FROM (${listed}) p JOIN ${jobSource} ON j.id = p.id ORDER BY j.${order}`,
      { order, bytes: jobBytesSql },
    ),
    values,
  );
}

/** Returns the types of the values in a page cursor of this sort order. */
export function getSortKinds(sort: JobSort = '-queuedAt'): JobSorting['cursor'] {
  return parseJobSorting(sort).cursor;
}

export interface RunRow extends Pick<JobEntity, 'id' | 'status' | 'startedAt' | 'error'> {
  durationSeconds: number | null;
  aiCostMicros: MicroUsd;
  stepsTotal: number;
  stepsPassed: number;
  stepsFailed: number;
}

/** Lists the agent's 20 most recently started runs with the cost of their model calls (interface 4.1). */
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
