import type { CostGrouping } from '@muster/contracts';

/** What a component `c` of a `day` is grouped by. A model's capitals make no difference. */
export const groupKeys: Record<CostGrouping, string> = {
  day: 'day::text',
  workflow: `COALESCE(c.workflow_id::text, 'none')`,
  agent: `COALESCE(c.agent_id::text, 'none')`,
  schedule: `COALESCE(c.schedule_id::text, 'none')`,
  model: `CASE WHEN c.kind = 'ai' THEN lower(c.provider || '/' || c.model) ELSE 'none' END`,
};

/** The sums of components `c`, as a day's rows have them. */
export const groupSums = `
  min(c.provider || '/' || c.model) AS model, count(DISTINCT c.job_id) FILTER (WHERE c.purpose IS NULL)::int AS runs,
  COALESCE(sum(c.amount_micros) FILTER (WHERE c.kind = 'ai'), 0)::bigint AS ai_micros,
  COALESCE(sum(c.amount_micros) FILTER (WHERE c.kind = 'compute'), 0)::bigint AS compute_micros,
  COALESCE(sum(c.amount_micros) FILTER (WHERE c.kind = 'reported'), 0)::bigint AS reported_micros`;

/** The components of the organization $1 on each of `days` (rows with a `day`), in a zone. */
export function componentsOf(days: string, timezone: string): string {
  const midnight = (day: string) => `(${day}::timestamp AT TIME ZONE ${timezone})`;
  // Wider for the index by what clocks may be changed at midnight; the zone decides.
  return `${days} JOIN run_cost_component c ON c.organization_id = $1
    AND c.finished_at >= ${midnight('day')} - interval '3 hours'
    AND c.finished_at < ${midnight('(day + 1)')} + interval '3 hours'
    AND (c.finished_at AT TIME ZONE ${timezone})::date = day`;
}
