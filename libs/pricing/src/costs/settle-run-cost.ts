import type { MicroUsd } from '@muster/contracts';
import type { JobEntity, OrganizationSettingsEntity, RunCostEntity, Transaction } from '@muster/database';
import { recordSpend, runMsOf } from '../usage/record-usage';
import { tellSettledLimits } from '../usage/tell-limits';
import { computeRunCost, type RunCost } from './compute-run-cost';
import { writeComponents } from './write-components';
import { type KeptPrice, priceUsages, usagesIn, usagesStatement, type UsageSum } from './price-usages';

type CostedJob = Pick<
  JobEntity,
  'organizationId' | 'batchId' | 'workflowId' | 'agentId' | 'scheduleId' | 'startedAt' | 'reportedCostMicros'
> &
  Pick<RunCostEntity, 'computeMicrosPerHour'> &
  Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'> & {
    finishedAt: Date;
    prices: KeptPrice[] | null;
    /** As it was settled before; null for the first time. */
    settledMicros: MicroUsd | null;
    /** Of the month that it ended in, before this is booked. */
    monthRuns: number;
    monthSpendMicros: MicroUsd;
  };

/** A run's cost as it was settled, and whether that is another amount than before. */
export interface SettledCost extends Pick<JobEntity, 'organizationId' | 'batchId'> {
  totalMicros: MicroUsd;
  changed: boolean;
  /** It was not settled before. */
  isFirst: boolean;
}

/**
 * Computes an ended run's cost, writes it beside the job and books the difference. Run again, after a late report, it
 * corrects; run twice, it changes nothing. What was priced once keeps its price, unless it is to be priced `anew`. Null:
 * there is no such ended run.
 */
export async function settleRunCost(
  tx: Transaction,
  jobId: string,
  options: { anew?: boolean } = {},
): Promise<SettledCost | null> {
  return (await settleRunCosts(tx, [jobId], options)).get(jobId) ?? null;
}

/** As settleRunCost, for several in the round trips of one; those that there are no such ended runs of are left out. */
export async function settleRunCosts(
  tx: Transaction,
  jobIds: string[],
  { anew = false }: { anew?: boolean } = {},
): Promise<Map<string, SettledCost>> {
  // In one order for everybody.
  const ids = [...new Set(jobIds)].sort();
  // By itself: whoever waits for it must see the cost that its holder wrote, and the usages that came meanwhile.
  for (const id of ids) tx.defer('SELECT FROM job WHERE id = $1 FOR UPDATE', [id], 'lock_cost');
  const rows = await tx.queryAll(
    ids.flatMap((id) => [{ name: 'find_costed_job', text: costedJob, values: [id] }, usagesStatement(id)]),
  );
  const settled = new Map<string, SettledCost>();
  for (const [at, jobId] of ids.entries()) {
    const job = rows[2 * at]![0] as CostedJob | undefined;
    if (job) settled.set(jobId, await settle(tx, { ...job, jobId }, rows[2 * at + 1] as UsageSum[], anew));
  }
  return settled;
}

async function settle(
  tx: Transaction,
  job: CostedJob & { jobId: string },
  sums: UsageSum[],
  anew: boolean,
): Promise<SettledCost> {
  const { jobId, organizationId, startedAt, finishedAt, computeMicrosPerHour, settledMicros } = job;
  const { usages, prices } = await priceUsages(tx, organizationId, {
    usages: usagesIn(sums),
    kept: anew ? [] : (job.prices ?? []),
  });
  const cost = computeRunCost({
    usages,
    runMs: startedAt && runMsOf({ startedAt, finishedAt }),
    computeMicrosPerHour,
    reportedMicros: job.reportedCostMicros,
  });
  const durationMs = startedAt && finishedAt.getTime() - startedAt.getTime();
  const endedAt = startedAt && finishedAt;
  writeCost(tx, { jobId, computeMicrosPerHour, organizationId, prices, durationMs, endedAt }, cost);
  const owner = { ...job, finishedAt: startedAt && finishedAt, purpose: null };
  writeComponents(tx, owner, { components: cost.components, isAgain: settledMicros !== null });
  const { totalMicros } = cost;
  recordSpend(tx, { jobId, organizationId, totalMicros, finishedAt });
  const before = { runs: job.monthRuns, spendMicros: job.monthSpendMicros };
  await tellSettledLimits(tx, { ...job, before, addedMicros: totalMicros });
  return {
    organizationId,
    batchId: job.batchId,
    totalMicros,
    changed: BigInt(totalMicros) !== BigInt(settledMicros ?? 0),
    isFirst: settledMicros === null,
  };
}

const costedJob = `
  SELECT j.organization_id, j.batch_id, s.monthly_run_limit, s.monthly_spend_limit_micros, j.workflow_id, j.agent_id, j.schedule_id, j.started_at, j.finished_at,
         j.reported_cost_micros, r.prices, r.total_micros AS settled_micros,
         COALESCE(r.compute_micros_per_hour, a.compute_micros_per_hour, s.compute_micros_per_hour)
           AS compute_micros_per_hour,
         COALESCE(c.runs, 0) AS month_runs, COALESCE(c.spend_micros, 0) AS month_spend_micros
  FROM job j
  JOIN agent a ON a.id = j.agent_id
  JOIN organization_settings s ON s.organization_id = j.organization_id
  LEFT JOIN run_cost r ON r.job_id = j.id
  LEFT JOIN usage_counter c ON c.organization_id = j.organization_id
    AND c.month = date_trunc('month', j.finished_at AT TIME ZONE 'UTC')::date
  WHERE j.id = $1 AND j.finished_at IS NOT NULL`;

/** With it the sums of its day are to be made anew; one that never started belongs to none. */
function writeCost(
  tx: Transaction,
  of: Pick<RunCostEntity, 'jobId' | 'organizationId' | 'computeMicrosPerHour' | 'durationMs'> & {
    prices: KeptPrice[];
    endedAt: Date | null;
  },
  { aiMicros, computeMicros, reportedMicros, totalMicros }: RunCost,
): void {
  tx.defer(
    `WITH change AS (
       INSERT INTO run_cost_change (organization_id, finished_at) SELECT $2, $9 WHERE $9::timestamptz IS NOT NULL)
     INSERT INTO run_cost
       (job_id, organization_id, compute_micros_per_hour, compute_micros, ai_micros, reported_micros, total_micros,
        prices, duration_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $10)
     ON CONFLICT (job_id) DO UPDATE
     SET compute_micros = excluded.compute_micros, ai_micros = excluded.ai_micros,
         reported_micros = excluded.reported_micros, total_micros = excluded.total_micros, prices = excluded.prices,
         computed_at = now()`,
    [
      of.jobId,
      of.organizationId,
      of.computeMicrosPerHour,
      computeMicros,
      aiMicros,
      reportedMicros,
      totalMicros,
      JSON.stringify(of.prices),
      of.endedAt,
      of.durationMs,
    ],
    'write_run_cost',
  );
}
