import type { CostGrouping } from '@muster/contracts';

/** Expression for the group key of a component `c` on a `day`. Model names are compared case-insensitively. */
export const groupKeys: Record<CostGrouping, string> = {
  day: 'day::text',
  workflow: `COALESCE(c.workflow_id::text, 'none')`,
  agent: `COALESCE(c.agent_id::text, 'none')`,
  schedule: `COALESCE(c.schedule_id::text, 'none')`,
  model: `CASE WHEN c.kind = 'ai' THEN lower(c.provider || '/' || c.model) ELSE 'none' END`,
};

/** Select list that sums components `c` for a day row. */
export const groupSums = `
  min(c.provider || '/' || c.model) AS model, count(DISTINCT c.job_id) FILTER (WHERE c.purpose IS NULL)::int AS runs,
  COALESCE(sum(c.amount_micros) FILTER (WHERE c.kind = 'ai'), 0)::bigint AS ai_micros,
  COALESCE(sum(c.amount_micros) FILTER (WHERE c.kind = 'compute'), 0)::bigint AS compute_micros,
  COALESCE(sum(c.amount_micros) FILTER (WHERE c.kind = 'reported'), 0)::bigint AS reported_micros`;

/**
 * Joins `days` (rows with a `day`) with the components of organization $1 that finished on that day in the time zone.
 */
export function joinComponentsSql(days: string, timezone: string): string {
  const midnightSql = (day: string) => `(${day}::timestamp AT TIME ZONE ${timezone})`;
  // The bounds that use the index are three hours wider, because clocks may change at midnight. The last condition is
  // exact.
  return `${days} JOIN run_cost_component c ON c.organization_id = $1
    AND c.finished_at >= ${midnightSql('day')} - interval '3 hours'
    AND c.finished_at < ${midnightSql('(day + 1)')} + interval '3 hours'
    AND (c.finished_at AT TIME ZONE ${timezone})::date = day`;
}
