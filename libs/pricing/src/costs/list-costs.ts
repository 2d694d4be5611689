import {
  AppError,
  type CostGrouping,
  type Costs,
  type CostsQuery,
  type MicroUsd,
  sumMoney,
  microsToUsd,
} from '@muster/contracts';
import type { Database, OrganizationSettingsEntity } from '@muster/database';
import { joinComponentsSql, groupKeys, groupSums } from './cost-groups';
import { type Period, completePeriod } from './period';

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

/** Lists the costs of runs that ended in the period. The groups add up to the total, and include deleted runs. */
export async function listCosts(
  database: Database,
  organizationId: string,
  { query, now }: { query: CostsQuery; now: Date },
): Promise<CostsOfRuns> {
  const { groupBy = 'day' } = query;
  const period = completePeriod(query, { now, timezone: await readOrganizationTimezone(database, organizationId) });
  const rows = await readCostGroups(database, { organizationId, groupBy, period });
  return {
    ...period,
    groupBy,
    totalUsd: microsToUsd(sumMoney(rows.map(({ totalMicros }) => totalMicros))),
    groups: rows.map((row) => ({
      key: row.key,
      label: row.label ?? row.key,
      runs: row.runs,
      aiUsd: microsToUsd(row.aiMicros),
      computeUsd: microsToUsd(row.computeMicros),
      reportedUsd: microsToUsd(row.reportedMicros),
      totalUsd: microsToUsd(row.totalMicros),
    })),
  };
}

async function readOrganizationTimezone(database: Database, organizationId: string): Promise<string> {
  const [settings] = await database.query<Pick<OrganizationSettingsEntity, 'timezone'>>(
    { organizationId },
    'SELECT timezone FROM organization_settings WHERE organization_id = $1',
    [organizationId],
    'timezone_of',
  );
  if (!settings) throw new AppError('not_found', { detail: 'The organization no longer exists. Sign in again.' });
  return settings.timezone;
}

/** Id of the group's entity; null for `none` and `(others)`, which are not ids. */
const id = `CASE WHEN g.key NOT IN ('none', '(others)') THEN g.key::uuid END`;

/** Name of the group's workflow, agent or schedule; null if it was deleted. Days and models have no label. */
const labels: Record<CostGrouping, string> = {
  day: 'NULL',
  workflow: `(SELECT name FROM workflow w WHERE w.id = ${id} AND w.organization_id = $1)`,
  agent: `(SELECT name FROM agent a WHERE a.id = ${id} AND a.organization_id = $1)`,
  schedule: `(SELECT name FROM schedule c WHERE c.id = ${id} AND c.organization_id = $1)`,
  model: 'NULL',
};

/** Maximum number of separate groups; cheaper groups are summed up as `(others)`. */
const maxGroups = 5000;

function readCostGroups(
  database: Database,
  { organizationId, groupBy, period }: { organizationId: string; groupBy: CostGrouping; period: Period },
): Promise<GroupRow[]> {
  const name = groupBy === 'model' ? "CASE WHEN g.key IN ('none', '(others)') THEN g.key ELSE g.model END" : 'g.key';
  return database.query<GroupRow>(
    { organizationId },
    `WITH zone AS (
       SELECT s.timezone, r.timezone = s.timezone IS TRUE AS is_summed_up
       FROM organization_settings s LEFT JOIN run_cost_state r ON r.organization_id = s.organization_id
       WHERE s.organization_id = $1),
     changed AS MATERIALIZED (
       SELECT DISTINCT (c.finished_at AT TIME ZONE zone.timezone)::date AS day FROM run_cost_change c, zone
       WHERE c.organization_id = $1 AND zone.is_summed_up
       UNION SELECT day::date FROM zone, generate_series($2::date::timestamp, $3::date::timestamp, '1 day') AS day
       WHERE NOT zone.is_summed_up),
     month AS MATERIALIZED (
       SELECT month FROM run_cost_month m, zone
       WHERE m.organization_id = $1 AND m.grouped_by = 'month' AND $4 <> 'day' AND zone.is_summed_up
         AND month BETWEEN $2 AND $3 AND month + interval '1 month' - interval '1 day' <= $3
         AND month NOT IN (SELECT date_trunc('month', day)::date FROM changed)),
     part AS (
       SELECT key, model, runs, ai_micros, compute_micros, reported_micros FROM run_cost_month
       WHERE organization_id = $1 AND grouped_by = $4 AND month = ANY (ARRAY(SELECT month FROM month))
       UNION ALL
       SELECT key, model, runs, ai_micros, compute_micros, reported_micros FROM run_cost_day
       WHERE organization_id = $1 AND grouped_by = $4 AND day = ANY (ARRAY(
         SELECT day::date FROM zone, generate_series($2::date::timestamp, $3::date::timestamp, '1 day') AS day
         WHERE zone.is_summed_up AND date_trunc('month', day)::date NOT IN (SELECT month FROM month)
         EXCEPT SELECT day FROM changed))
       UNION ALL
       SELECT ${groupKeys[groupBy]} AS key, ${groupSums}
       FROM ${joinComponentsSql('zone CROSS JOIN changed', 'zone.timezone')}
       WHERE day BETWEEN $2 AND $3 GROUP BY 1, day),
     summed AS (
       SELECT key, min(model) AS model, sum(runs)::int AS runs, sum(ai_micros)::bigint AS ai,
              sum(compute_micros)::bigint AS compute, sum(reported_micros)::bigint AS reported
       FROM part GROUP BY key),
     ranked AS (
       SELECT *, row_number() OVER (ORDER BY ai + compute + reported DESC, key) AS rank FROM summed),
     g AS (
       SELECT CASE WHEN rank <= ${maxGroups} THEN key ELSE '(others)' END AS key, min(rank) AS rank, min(model) AS model,
              sum(runs)::int AS runs, sum(ai)::bigint AS ai, sum(compute)::bigint AS compute,
              sum(reported)::bigint AS reported
       FROM ranked GROUP BY 1)
     SELECT ${name} AS key, ${labels[groupBy]} AS label, g.runs, g.ai AS ai_micros, g.compute AS compute_micros,
            g.reported AS reported_micros, g.ai + g.compute + g.reported AS total_micros
     FROM g ORDER BY ${groupBy === 'day' ? 'g.key' : 'g.rank'}`,
    [organizationId, period.from, period.to, groupBy],
  );
}
