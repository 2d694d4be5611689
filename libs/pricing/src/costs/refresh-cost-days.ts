import {
  type Database,
  acquireAdvisoryLock,
  type OrganizationSettingsEntity,
  type Transaction,
} from '@muster/database';
import { nilId, type Round, refreshRollups } from '@muster/platform';
import { closeCostMonths, reopenCostMonths } from './close-cost-months';
import { joinComponentsSql, groupKeys, groupSums } from './cost-groups';

/** Maximum number of days that one transaction recomputes, so that it does not block other transactions for long. */
const dayBatchSize = 8;

/** Refreshes the day rows of all organizations with changed costs, so that reads of costs have little to compute. */
export function sweepCostDays(database: Database, round: Round): ReturnType<typeof refreshRollups> {
  return refreshRollups(round, {
    name: 'cost days',
    organizations: (after, limit) => findOrganizationsToRefresh(database, after, limit),
    refresh: (organizationId) => refreshCostDays(database, organizationId),
  });
}

async function findOrganizationsToRefresh(database: Database, after: string | null, limit: number): Promise<string[]> {
  const rows = await database.query<Pick<OrganizationSettingsEntity, 'organizationId'>>(
    'system',
    `SELECT s.organization_id FROM organization_settings s
     LEFT JOIN run_cost_state r ON r.organization_id = s.organization_id
     WHERE s.organization_id > $1 AND (r.timezone IS DISTINCT FROM s.timezone
       OR EXISTS (SELECT FROM run_cost_change c WHERE c.organization_id = s.organization_id))
     ORDER BY s.organization_id LIMIT $2`,
    [after ?? nilId, limit],
    'costs_to_refresh',
  );
  return rows.map(({ organizationId }) => organizationId);
}

/**
 * Recomputes changed days and deletes their change rows in one transaction. `hasMore`: whether changed days may be
 * left.
 */
export function refreshCostDays(
  database: Database,
  organizationId: string,
): Promise<{ days: number; hasMore: boolean }> {
  return database.transaction({ organizationId }, async (tx) => {
    await acquireAdvisoryLock(tx, 'run_cost_day', organizationId);
    const [zone] = await tx.query<Pick<OrganizationSettingsEntity, 'timezone'> & { isOther: boolean }>(
      `SELECT s.timezone, r.timezone IS DISTINCT FROM s.timezone AS is_other
       FROM organization_settings s LEFT JOIN run_cost_state r ON r.organization_id = s.organization_id
       WHERE s.organization_id = $1`,
      [organizationId],
      'cost_zone',
    );
    const { timezone, isOther } = zone!;
    if (isOther) await resetCostDays(tx, organizationId, timezone);
    const days = await claimChangedDays(tx, organizationId, timezone);
    const hasMore = days.length === dayBatchSize;
    if (days.length > 0) {
      await insertCostDays(tx, organizationId, { timezone, days });
      await reopenCostMonths(tx, organizationId, days);
      if (!hasMore) await closeCostMonths(tx, organizationId, timezone);
    }
    return { days: days.length, hasMore };
  });
}

/** Deletes all rows of days and months, and marks every day as changed: for a new organization or another time zone. */
export async function resetCostDays(tx: Transaction, organizationId: string, timezone: string): Promise<void> {
  await tx.execute('DELETE FROM run_cost_change WHERE organization_id = $1', [organizationId]);
  await tx.execute('DELETE FROM run_cost_day WHERE organization_id = $1', [organizationId]);
  await tx.execute('DELETE FROM run_cost_month WHERE organization_id = $1', [organizationId]);
  await tx.execute(
    `INSERT INTO run_cost_change (organization_id, finished_at)
     SELECT $1, min(finished_at) FROM run_cost_component
     WHERE organization_id = $1 AND finished_at IS NOT NULL GROUP BY (finished_at AT TIME ZONE $2)::date`,
    [organizationId, timezone],
  );
  await tx.execute(
    `INSERT INTO run_cost_state (organization_id, timezone) VALUES ($1, $2)
     ON CONFLICT (organization_id) DO UPDATE SET timezone = excluded.timezone`,
    [organizationId, timezone],
  );
}

async function claimChangedDays(tx: Transaction, organizationId: string, timezone: string): Promise<string[]> {
  const rows = await tx.query<{ day: string }>(
    `WITH change AS MATERIALIZED (
       SELECT id, (finished_at AT TIME ZONE $2)::date AS day FROM run_cost_change WHERE organization_id = $1),
     selected_days AS MATERIALIZED (SELECT day FROM change GROUP BY 1 ORDER BY min(id) LIMIT $3),
     delete_changes AS (
       DELETE FROM run_cost_change c USING change JOIN selected_days USING (day) WHERE c.id = change.id)
     SELECT day::text FROM selected_days`,
    [organizationId, timezone, dayBatchSize],
    'claim_cost_changes',
  );
  return rows.map(({ day }) => day);
}

async function insertCostDays(
  tx: Transaction,
  organizationId: string,
  { timezone, days }: { timezone: string; days: string[] },
): Promise<void> {
  await tx.execute(
    'DELETE FROM run_cost_day WHERE organization_id = $1 AND day = ANY($2::date[])',
    [organizationId, days],
    'drop_cost_days',
  );
  const groups = Object.entries(groupKeys).map(([grouping, key]) => `('${grouping}', ${key})`);
  await tx.execute(
    `INSERT INTO run_cost_day
       (organization_id, grouped_by, day, key, model, runs, ai_micros, compute_micros, reported_micros)
     SELECT $1, group_key.grouped_by, day, group_key.key, ${groupSums}
     FROM ${joinComponentsSql('unnest($2::date[]) AS changed (day)', '$3')}
     CROSS JOIN LATERAL (VALUES ${groups.join(', ')}) AS group_key (grouped_by, key)
     GROUP BY 2, 3, 4`,
    [organizationId, days, timezone],
    'sum_up_cost_days',
  );
}
