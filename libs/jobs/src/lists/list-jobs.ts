import { findAgent } from '@muster/agents';
import type { JobFilter, MicroUsd } from '@muster/contracts';
import { type Database, type JobEntity, pageWithin, scanWithin } from '@muster/database';
import { firstIdAt, type Page } from '@muster/platform';
import { jobColumns, type JobRow, jobSource } from './job-row';

/** Newest first: ids are made in the order of time. */
export function listJobs(
  database: Database,
  organizationId: string,
  { page, filter }: { page: Page; filter: Omit<JobFilter, 'limit' | 'cursor'> },
): Promise<JobRow[]> {
  const values: unknown[] = [organizationId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const { from, to } = filter;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id < ${placed(page.after[0])}`);
  if (from) within.push(`id >= ${placed(firstIdAt(new Date(Date.parse(from) - apartMs)))}`);
  if (to) within.push(`id < ${placed(firstIdAt(new Date(Date.parse(to) + apartMs)))}`);
  const looked = [];
  if (from) looked.push(`queued_at >= ${placed(from)}`);
  if (to) looked.push(`queued_at < ${placed(to)}`);
  // One of them is a range of an index, the narrowest; the others are looked at in it.
  const [first, ...others] = ranges.filter((range) => range.of(filter) !== undefined);
  if (first) {
    const value = placed(first.of(filter));
    within.push(`${first.column} = ${value}`);
    // What is another organization's is not searched for rows of ours.
    if (first.owner)
      within.push(`EXISTS (SELECT FROM ${first.owner} o WHERE o.id = ${value} AND o.organization_id = $1)`);
  }
  for (const { column, of } of others) looked.push(`${column} = ${placed(of(filter))}`);
  const listed = scanWithin({
    from: 'job',
    columns: 'id',
    within,
    filter: looked,
    order: 'id DESC',
    limit: placed(page.limit + 1),
  });
  return database.query<JobRow>(
    { organizationId },
    pageWithin(
      `SELECT ${jobColumns}, p.matches, p.scan_end FROM (${listed}) p JOIN ${jobSource} ON j.id = p.id ORDER BY j.id DESC`,
      { order: 'id DESC', bytes: `octet_length(variables::text) + COALESCE(octet_length(result::text), 0)` },
    ),
    values,
  );
}

/** So far a run's time may be from that of its id: they are two clocks, and a batch takes a while. */
const apartMs = 10 * 60_000;

type Filter = Pick<JobFilter, 'status' | 'agentId' | 'workflowId' | 'scheduleId' | 'batchId'>;

/** What an index has in the order of ids, the narrowest first. Of the completed there are too many for one. */
const ranges: { column: string; of: (filter: Filter) => string | undefined; owner?: string }[] = [
  { column: 'batch_id', of: ({ batchId }) => batchId, owner: 'batch' },
  { column: 'schedule_id', of: ({ scheduleId }) => scheduleId },
  { column: 'agent_id', of: ({ agentId }) => agentId, owner: 'agent' },
  { column: 'status', of: ({ status }) => (status === 'completed' ? undefined : status) },
  { column: 'workflow_id', of: ({ workflowId }) => workflowId, owner: 'workflow' },
  { column: 'status', of: ({ status }) => (status === 'completed' ? status : undefined) },
];

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
