import type { OrganizationSettingsEntity, Transaction, UsageCounterEntity } from '@muster/database';
import { type EndedRun, manyRuns, getRunUsageValues } from '../usage/record-usage';
import { emitLimitNotices } from '../usage/emit-limit-notices';

type Counted = Pick<UsageCounterEntity, 'runs' | 'spendMicros'> &
  Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'> & { month: string };

/**
 * Does the work of recordRunUsage and bookRunCosts for runs that never started and have no reported cost. Each costs
 * nothing, so one statement records and books all of them and updates the month's counter once. The counter stays
 * locked until the commit, so call this last in a transaction.
 */
export async function bookFreeRuns(tx: Transaction, organizationId: string, runs: EndedRun[]): Promise<void> {
  if (runs.length === 0) return;
  tx.onCommitMeasure(({ runsEnded }) => runs.forEach(({ outcome }) => runsEnded.inc({ outcome })));
  const counted = await tx.query<Counted>(
    `WITH ended AS (SELECT * FROM ${manyRuns} AS r (job_id, month, outcome, run_ms, at)),
     run AS (
       INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, run_ms, at, counted)
       SELECT job_id, 'run', $1, month, outcome, run_ms, at, true FROM ended
       ON CONFLICT DO NOTHING RETURNING month, outcome, run_ms),
     cost AS (
       INSERT INTO run_cost
         (job_id, organization_id, compute_micros_per_hour, compute_micros, ai_micros, reported_micros, total_micros,
          prices)
       SELECT e.job_id, $1, COALESCE(a.compute_micros_per_hour, s.compute_micros_per_hour), 0, 0, 0, 0, '[]'
       FROM ended e JOIN job j ON j.id = e.job_id LEFT JOIN agent a ON a.id = j.agent_id
       JOIN organization_settings s ON s.organization_id = $1)
     INSERT INTO usage_counter AS c (organization_id, month, runs, completed, failed, cancelled, run_ms, spend_micros)
     SELECT $1, month, count(*), count(*) FILTER (WHERE outcome = 'completed'), count(*) FILTER (WHERE outcome = 'failed'),
            count(*) FILTER (WHERE outcome = 'cancelled'), sum(run_ms), 0
     FROM run GROUP BY month
     ON CONFLICT (organization_id, month) DO UPDATE
     SET runs = c.runs + excluded.runs, completed = c.completed + excluded.completed,
         failed = c.failed + excluded.failed, cancelled = c.cancelled + excluded.cancelled,
         run_ms = c.run_ms + excluded.run_ms
     RETURNING to_char(month, 'YYYY-MM-DD') AS month, runs, spend_micros,
       (SELECT monthly_run_limit FROM organization_settings WHERE organization_id = $1) AS monthly_run_limit,
       (SELECT monthly_spend_limit_micros FROM organization_settings WHERE organization_id = $1)
         AS monthly_spend_limit_micros`,
    [organizationId, ...getRunUsageValues(runs)],
    'book_free_runs',
  );
  for (const { month, ...limits } of counted)
    await emitLimitNotices(tx, { organizationId, month, limits, used: limits });
}
