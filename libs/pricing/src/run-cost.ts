import type { Transaction } from '@muster/database';
import { recordSpend } from './record-usage';

export interface RunCost {
  runSeconds: number;
  hourlyComputeUsd: number;
  computeUsd: number;
  aiUsd: number;
  reportedUsd: number | null;
  totalUsd: number;
}

/** What a run has cost: its share of the machine and its AI calls, or what the worker says where that is more. */
export function costOf(facts: {
  runSeconds: number;
  hourlyComputeUsd: number;
  aiUsd: number;
  reportedUsd: number | null;
}): RunCost {
  const computeUsd = (facts.runSeconds / 3600) * facts.hourlyComputeUsd;
  const computed = computeUsd + facts.aiUsd;
  return { ...facts, computeUsd, totalUsd: Math.max(computed, facts.reportedUsd ?? 0) };
}

interface CostFacts {
  organizationId: string;
  finishedAt: Date;
  runSeconds: number;
  hourlyComputeUsd: number;
  aiUsd: number;
  reportedUsd: number | null;
}

/**
 * Computes an ended run's cost, writes it beside the job and onto it, and books the difference. Run again, after a
 * late report, it corrects; run twice, it changes nothing. False: there is no such ended run.
 */
export async function settleRunCost(tx: Transaction, jobId: string): Promise<boolean> {
  // By itself: whoever waits for it must see the cost that its holder wrote.
  tx.defer('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId], 'lock_cost');
  const [facts] = await tx.query<CostFacts>(
    `SELECT j.organization_id AS "organizationId", j.finished_at AS "finishedAt",
            COALESCE(EXTRACT(epoch FROM j.finished_at - j.started_at), 0)::float8 AS "runSeconds",
            COALESCE(r.hourly_compute_usd, s.hourly_compute_usd) AS "hourlyComputeUsd",
            (SELECT COALESCE(sum(u.cost_usd), 0) FROM ai_usage u WHERE u.job_id = j.id) AS "aiUsd",
            CASE WHEN r.job_id IS NULL THEN j.total_cost_usd ELSE r.reported_usd END AS "reportedUsd"
     FROM job j
     JOIN organization_settings s ON s.organization_id = j.organization_id
     LEFT JOIN run_cost r ON r.job_id = j.id
     WHERE j.id = $1 AND j.finished_at IS NOT NULL`,
    [jobId],
    'cost_facts',
  );
  if (!facts) return false;
  const { organizationId, finishedAt } = facts;
  const cost = costOf(facts);
  await tx.execute(
    `WITH cost AS (
       INSERT INTO run_cost AS r
         (job_id, organization_id, run_seconds, hourly_compute_usd, compute_usd, ai_usd, reported_usd, total_usd)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
       ON CONFLICT (job_id) DO UPDATE
       SET ai_usd = excluded.ai_usd, total_usd = excluded.total_usd, computed_at = now())
     UPDATE job SET total_cost_usd = $8 WHERE id = $1`,
    [
      jobId,
      organizationId,
      cost.runSeconds,
      cost.hourlyComputeUsd,
      cost.computeUsd,
      cost.aiUsd,
      cost.reportedUsd,
      cost.totalUsd,
    ],
    'write_run_cost',
  );
  await recordSpend(tx, { jobId, organizationId, totalUsd: cost.totalUsd, finishedAt });
  return true;
}
