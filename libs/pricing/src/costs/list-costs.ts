import {
  AppError,
  type CostGrouping,
  type Costs,
  type CostsQuery,
  type MicroUsd,
  sumOfMoney,
  usdOf,
} from '@muster/contracts';
import type { Database, OrganizationSettingsEntity } from '@muster/database';
import { type Period, periodOf } from './period';

interface GroupRow {
  key: string;
  label: string | null;
  runs: number;
  aiMicros: MicroUsd;
  computeMicros: MicroUsd;
  reportedMicros: MicroUsd;
  totalMicros: MicroUsd;
}

type CostsOfRuns = Omit<Costs, 'idle'>;

/** What runs cost that ended on these days, in groups that add up to all of it; deleted runs count as they did. */
export async function listCosts(
  database: Database,
  organizationId: string,
  { query, now }: { query: CostsQuery; now: Date },
): Promise<CostsOfRuns> {
  const { groupBy = 'day' } = query;
  const period = periodOf(query, { now, timezone: await timezoneOf(database, organizationId) });
  const rows = await readGroups(database, { organizationId, groupBy, period });
  return {
    ...period,
    groupBy,
    totalUsd: usdOf(sumOfMoney(rows.map(({ totalMicros }) => totalMicros))),
    groups: rows.map((row) => ({
      key: row.key,
      label: row.label ?? row.key,
      runs: row.runs,
      aiUsd: usdOf(row.aiMicros),
      computeUsd: usdOf(row.computeMicros),
      reportedUsd: usdOf(row.reportedMicros),
      totalUsd: usdOf(row.totalMicros),
    })),
  };
}

async function timezoneOf(database: Database, organizationId: string): Promise<string> {
  const [settings] = await database.query<Pick<OrganizationSettingsEntity, 'timezone'>>(
    { organizationId },
    'SELECT timezone FROM organization_settings WHERE organization_id = $1',
    [organizationId],
    'timezone_of',
  );
  if (!settings) throw new AppError('not_found', { detail: 'The organization is gone.' });
  return settings.timezone;
}

/** What a component is grouped by. A model's capitals make no difference. */
const keys: Record<CostGrouping, string> = {
  day: `to_char(c.finished_at AT TIME ZONE s.timezone, 'YYYY-MM-DD')`,
  workflow: 'c.workflow_id::text',
  agent: 'c.agent_id::text',
  schedule: `COALESCE(c.schedule_id::text, 'none')`,
  model: `CASE WHEN c.kind = 'ai' THEN lower(c.provider || '/' || c.model) ELSE 'none' END`,
};

/** A group's name, from one of its keys: that of the thing where there still is one. */
const labels: Record<CostGrouping, string> = {
  day: 'NULL',
  workflow: '(SELECT name FROM workflow w WHERE w.id::text = g.key AND w.organization_id = $1)',
  agent: '(SELECT name FROM agent a WHERE a.id::text = g.key AND a.organization_id = $1)',
  schedule: '(SELECT name FROM schedule c WHERE c.id::text = g.key AND c.organization_id = $1)',
  model: 'NULL',
};

/** Groups that are shown by themselves; what costs less than these is one. */
const maxGroups = 5000;

function readGroups(
  database: Database,
  { organizationId, groupBy, period }: { organizationId: string; groupBy: CostGrouping; period: Period },
): Promise<GroupRow[]> {
  return database.query<GroupRow>(
    { organizationId },
    `WITH component AS (
       SELECT ${keys[groupBy]} AS key, c.*
       FROM organization_settings s JOIN run_cost_component c ON c.organization_id = s.organization_id
       WHERE s.organization_id = $1
         -- A day more on both sides for the index; the zone decides.
         AND c.finished_at >= $2::date - 1 AND c.finished_at < $3::date + 2
         AND (c.finished_at AT TIME ZONE s.timezone)::date BETWEEN $2 AND $3),
     place AS (
       SELECT key, row_number() OVER (ORDER BY sum(amount_micros) DESC, key) AS place FROM component GROUP BY key),
     g AS (
       SELECT CASE WHEN p.place <= ${maxGroups} THEN key ELSE '(others)' END AS key, min(p.place) AS place,
              min(c.provider || '/' || c.model) AS model, count(DISTINCT c.job_id)::int AS runs,
              COALESCE(sum(amount_micros) FILTER (WHERE kind = 'ai'), 0)::bigint AS ai,
              COALESCE(sum(amount_micros) FILTER (WHERE kind = 'compute'), 0)::bigint AS compute,
              COALESCE(sum(amount_micros) FILTER (WHERE kind = 'reported'), 0)::bigint AS reported,
              sum(amount_micros)::bigint AS total
       FROM component c JOIN place p USING (key) GROUP BY 1)
     SELECT ${groupBy === 'model' ? "CASE WHEN g.key IN ('none', '(others)') THEN g.key ELSE g.model END" : 'g.key'} AS key,
            ${labels[groupBy]} AS label, g.runs, g.ai AS ai_micros, g.compute AS compute_micros,
            g.reported AS reported_micros, g.total AS total_micros
     FROM g ORDER BY ${groupBy === 'day' ? 'g.key' : 'g.place'}`,
    [organizationId, period.from, period.to],
  );
}
