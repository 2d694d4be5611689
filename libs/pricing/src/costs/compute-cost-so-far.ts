import type { MicroUsd } from '@muster/contracts';
import type { JobEntity, RunCostEntity, Transaction } from '@muster/database';
import { computeRunCost } from './compute-run-cost';
import { priceUsages, readUsages } from './price-usages';

type Running = Pick<JobEntity, 'organizationId' | 'reportedCostMicros'> &
  Pick<RunCostEntity, 'computeMicrosPerHour'> & { runMs: number };

/**
 * Computes the cost of a run until now, or until its end, without writing anything. Null for a queued or missing job.
 */
export async function computeCostSoFar(tx: Transaction, jobId: string): Promise<MicroUsd | null> {
  const [run] = await tx.query<Running>(
    `SELECT j.organization_id, j.reported_cost_micros,
            GREATEST(0, floor(extract(epoch FROM COALESCE(j.finished_at, muster_clock()) - j.started_at) * 1000))::bigint
              AS run_ms,
            COALESCE(a.compute_micros_per_hour, s.compute_micros_per_hour) AS compute_micros_per_hour
     FROM job j
     JOIN agent a ON a.id = j.agent_id
     JOIN organization_settings s ON s.organization_id = j.organization_id
     WHERE j.id = $1 AND j.status <> 'queued'`,
    [jobId],
    'cost_so_far',
  );
  if (!run) return null;
  const { organizationId, runMs, computeMicrosPerHour, reportedCostMicros: reportedMicros } = run;
  const { usages } = await priceUsages(tx, organizationId, { usages: await readUsages(tx, jobId), stored: [] });
  return computeRunCost({ usages, runMs, computeMicrosPerHour, reportedMicros }).totalMicros;
}
