import type { Transaction } from '@muster/database';
import { groupKeys } from './cost-groups';

/** Groupings that have month rows. `day` has none, because each day has its own row. */
export const monthGroups = Object.keys(groupKeys).filter((grouping) => grouping !== 'day');

/** Select list that sums the day rows `d` for a month row. */
export const monthSums = `min(d.model) AS model, sum(d.runs)::int AS runs, sum(d.ai_micros)::bigint AS ai_micros,
  sum(d.compute_micros)::bigint AS compute_micros, sum(d.reported_micros)::bigint AS reported_micros`;

/** Deletes the rows of months with a changed day. Such a month is read from its day rows until it is closed again. */
export async function reopenCostMonths(tx: Transaction, organizationId: string, days: string[]): Promise<void> {
  await tx.execute(
    `DELETE FROM run_cost_month
     WHERE organization_id = $1 AND month IN (SELECT date_trunc('month', day)::date FROM unnest($2::date[]) day)`,
    [organizationId, days],
    'reopen_cost_months',
  );
}

/** Inserts the month rows of finished months that have none yet. */
export async function closeCostMonths(tx: Transaction, organizationId: string, timezone: string): Promise<void> {
  await tx.execute(
    `WITH month AS MATERIALIZED (
       SELECT DISTINCT date_trunc('month', day)::date AS month FROM run_cost_day
       WHERE organization_id = $1 AND grouped_by = 'day' AND day < date_trunc('month', muster_now() AT TIME ZONE $2)
       EXCEPT SELECT month FROM run_cost_month WHERE organization_id = $1 AND grouped_by = 'month')
     INSERT INTO run_cost_month
       (organization_id, grouped_by, month, key, model, runs, ai_micros, compute_micros, reported_micros)
     SELECT $1, CASE d.grouped_by WHEN 'day' THEN 'month' ELSE d.grouped_by END, m.month,
            CASE d.grouped_by WHEN 'day' THEN m.month::text ELSE d.key END, ${monthSums}
     FROM month m JOIN run_cost_day d ON d.organization_id = $1 AND d.day >= m.month AND d.day < m.month + interval '1 month'
       AND d.grouped_by = ANY($3)
     GROUP BY 2, 3, 4`,
    [organizationId, timezone, ['day', ...monthGroups]],
    'close_cost_months',
  );
}
