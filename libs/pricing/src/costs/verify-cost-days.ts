import { type Database, acquireAdvisoryLock, type OrganizationSettingsEntity } from '@muster/database';
import { monthGroups, monthSums } from './close-cost-months';
import { joinComponentsSql, groupKeys, groupSums } from './cost-groups';
import { refreshCostDays, resetCostDays } from './refresh-cost-days';

/** Number of days that one statement compares. */
const dayBatchSize = 31;

/**
 * Returns the days whose rows differ from the costs of their runs, then the months (`2026-03`) whose rows differ from
 * their days. Days with changes that arrive during the comparison are skipped.
 */
export async function verifyCostDays(database: Database, organizationId: string): Promise<string[]> {
  while ((await refreshCostDays(database, organizationId)).hasMore);
  const [period] = await database.query<{ from: string | null; days: number | null }>(
    { organizationId },
    `SELECT min(day)::text AS from, max(day) - min(day) + 1 AS days FROM (
       SELECT day FROM run_cost_day WHERE organization_id = $1
       UNION ALL
       SELECT (c.finished_at AT TIME ZONE s.timezone)::date
       FROM run_cost_component c JOIN organization_settings s ON s.organization_id = c.organization_id
       WHERE c.organization_id = $1 AND c.finished_at IS NOT NULL) known`,
    [organizationId],
  );
  const { from = null, days = 0 } = period ?? {};
  const differing: string[] = [];
  for (let at = 0; from !== null && at < days!; at += dayBatchSize) {
    const rows = await database.query<{ day: string }>({ organizationId }, differingSql, [organizationId, from, at]);
    differing.push(...rows.map(({ day }) => day));
  }
  const months = await database.query<{ month: string }>(
    { organizationId },
    differingMonthsSql,
    [organizationId, monthGroups],
    'differing_cost_months',
  );
  return [...differing, ...months.map(({ month }) => month)];
}

/** Rebuilds an organization's rollups of costs in steps. Until that is finished, costs are read from the components. */
export async function rebuildCostDays(database: Database, organizationId: string): Promise<{ days: number }> {
  await database.transaction({ organizationId }, async (tx) => {
    await acquireAdvisoryLock(tx, 'run_cost_day', organizationId);
    const [settings] = await tx.query<Pick<OrganizationSettingsEntity, 'timezone'>>(
      'SELECT timezone FROM organization_settings WHERE organization_id = $1',
      [organizationId],
    );
    if (settings) await resetCostDays(tx, organizationId, settings.timezone);
  });
  for (let days = 0; ;) {
    const step = await refreshCostDays(database, organizationId);
    days += step.days;
    if (!step.hasMore) return { days };
  }
}

const groups = Object.entries(groupKeys).map(([grouping, key]) => `('${grouping}', ${key})`);
const columns = 'grouped_by, day, key, model, runs, ai_micros, compute_micros, reported_micros';

const differingSql = `
  WITH compared_days AS MATERIALIZED (
    SELECT $2::date + $3::int + n AS day, s.timezone FROM organization_settings s
    CROSS JOIN generate_series(0, ${dayBatchSize} - 1) n
    WHERE s.organization_id = $1),
  stored_rows AS (
    SELECT ${columns} FROM run_cost_day WHERE organization_id = $1 AND day IN (SELECT day FROM compared_days)),
  computed_rows AS (
    SELECT group_key.grouped_by, day, group_key.key, ${groupSums}
    FROM ${joinComponentsSql('compared_days', 'compared_days.timezone')}
    CROSS JOIN LATERAL (VALUES ${groups.join(', ')}) AS group_key (grouped_by, key)
    GROUP BY 1, 2, 3),
  differing AS (
    (TABLE stored_rows EXCEPT TABLE computed_rows) UNION ALL (TABLE computed_rows EXCEPT TABLE stored_rows))
  SELECT DISTINCT day::text AS day FROM differing
  WHERE day NOT IN (
    SELECT (c.finished_at AT TIME ZONE s.timezone)::date FROM run_cost_change c
    JOIN organization_settings s ON s.organization_id = c.organization_id
    WHERE c.organization_id = $1 AND c.finished_at IS NOT NULL)
  ORDER BY 1`;

const monthColumns = 'month, grouped_by, key, model, runs, ai_micros, compute_micros, reported_micros';

const differingMonthsSql = `
  WITH closed AS MATERIALIZED (
    SELECT month FROM run_cost_month WHERE organization_id = $1 AND grouped_by = 'month'),
  stored_rows AS (
    SELECT ${monthColumns} FROM run_cost_month WHERE organization_id = $1 AND grouped_by = ANY($2)),
  computed_rows AS (
    SELECT m.month, d.grouped_by, d.key, ${monthSums}
    FROM closed m JOIN run_cost_day d ON d.organization_id = $1 AND d.day >= m.month AND d.day < m.month + interval '1 month'
      AND d.grouped_by = ANY($2)
    GROUP BY 1, 2, 3),
  differing AS (
    (TABLE stored_rows EXCEPT TABLE computed_rows) UNION ALL (TABLE computed_rows EXCEPT TABLE stored_rows))
  SELECT DISTINCT to_char(month, 'YYYY-MM') AS month FROM differing ORDER BY 1`;
