/**
 * Columns of a month's usage of organization o: its counter plus the ended runs that are not in the counter yet. For
 * statements that join `joinMonthlyUsageSql`.
 */
export const figureColumns = `COALESCE(f.runs, 0) AS runs, COALESCE(f.completed, 0) AS completed,
  COALESCE(f.failed, 0) AS failed, COALESCE(f.cancelled, 0) AS cancelled, COALESCE(f.run_ms, 0) AS run_ms,
  COALESCE(f.spend_micros, 0) AS spend_micros`;

export function joinMonthlyUsageSql(month: string): string {
  return `CROSS JOIN LATERAL (
    SELECT sum(runs)::bigint AS runs, sum(completed)::bigint AS completed, sum(failed)::bigint AS failed,
           sum(cancelled)::bigint AS cancelled, sum(run_ms)::bigint AS run_ms,
           sum(spend_micros)::bigint AS spend_micros
    FROM (
      SELECT runs, completed, failed, cancelled, run_ms, spend_micros FROM usage_counter
      WHERE organization_id = o.id AND month = ${month}
      UNION ALL
      SELECT 1, (outcome = 'completed')::int, (outcome = 'failed')::int, (outcome = 'cancelled')::int, run_ms,
             spend_micros
      FROM usage_event WHERE organization_id = o.id AND month = ${month} AND NOT counted) every_run) f`;
}
