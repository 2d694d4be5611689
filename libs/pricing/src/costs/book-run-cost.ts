import type { MicroUsd } from '@muster/contracts';
import {
  type JobEntity,
  type OrganizationSettingsEntity,
  type RunCostEntity,
  type Transaction,
  rowsToColumns,
} from '@muster/database';
import { recordSpendUsage, computeRunMs } from '../usage/record-usage';
import { emitLimitNoticesAfterBooking } from '../usage/emit-limit-notices';
import { computeRunCost, type RunCost } from './compute-run-cost';
import { replaceCostComponents } from './replace-cost-components';
import { priceUsages, type StoredPrice, convertUsageSums, buildUsagesStatement, type UsageSum } from './price-usages';

type CostedJob = Pick<
  JobEntity,
  'organizationId' | 'batchId' | 'workflowId' | 'agentId' | 'scheduleId' | 'startedAt' | 'reportedCostMicros'
> &
  Pick<RunCostEntity, 'computeMicrosPerHour'> &
  Pick<OrganizationSettingsEntity, 'monthlyRunLimit' | 'monthlySpendLimitMicros'> & {
    jobId: string;
    finishedAt: Date;
    prices: StoredPrice[] | null;
    /** Total that was booked before; null if the cost was not booked yet. */
    bookedMicros: MicroUsd | null;
    /** Runs of the month in which the run ended, before this booking. */
    monthRuns: number;
    /** Spend of the month in which the run ended, before this booking. */
    monthSpendMicros: MicroUsd;
  };

/** Booked cost of a run, and whether the amount changed. */
export interface BookedCost extends Pick<JobEntity, 'organizationId' | 'batchId'> {
  totalMicros: MicroUsd;
  changed: boolean;
  /** Whether the cost was booked for the first time. */
  isFirst: boolean;
}

/**
 * Computes the cost of an ended run, stores it and books the difference to the amount booked before. A second call
 * after a late report corrects the cost; a second call without a change has no effect. Usage that was priced before
 * keeps its price, unless `reprice` is set. Null if there is no such ended run.
 */
export async function bookRunCost(
  tx: Transaction,
  jobId: string,
  options: { reprice?: boolean } = {},
): Promise<BookedCost | null> {
  return (await bookRunCosts(tx, [jobId], options)).get(jobId) ?? null;
}

/**
 * Does the same as bookRunCost for several runs, with the same number of statements. Omits ids without an ended run.
 */
export async function bookRunCosts(
  tx: Transaction,
  jobIds: string[],
  { reprice = false }: { reprice?: boolean } = {},
): Promise<Map<string, BookedCost>> {
  const ids = [...new Set(jobIds)];
  tx.preferKeyIndexes();
  // The lock is a separate statement. So the statements after it see the cost that the previous holder of the lock
  // wrote, and the usages that arrived during the wait. All callers lock in the order of the ids, so that they cannot
  // deadlock.
  tx.deferStatement('SELECT FROM job WHERE id = ANY($1) ORDER BY id FOR UPDATE', [ids], 'lock_costs');
  const [jobs, sums] = (await tx.queryStatements([
    { name: 'find_costed_jobs', text: costedJobs, values: [ids] },
    buildUsagesStatement(ids),
  ])) as [CostedJob[], UsageSum[]];
  const runs: PricedRun[] = [];
  for (const job of jobs) {
    const own = sums.filter(({ jobId }) => jobId === job.jobId);
    runs.push(await computePricedRun(tx, job, own, reprice));
  }
  storeRunCosts(tx, runs);
  replaceCostComponents(
    tx,
    runs.map(({ job, endedAt, cost: { components } }) => ({
      owner: { ...job, finishedAt: endedAt, purpose: null },
      components,
      isAgain: job.bookedMicros !== null,
    })),
  );
  recordSpendUsage(
    tx,
    runs.map(({ job, cost: { totalMicros } }) => ({ ...job, totalMicros })),
  );
  for (const { job, cost } of runs) {
    const before = { runs: job.monthRuns, spendMicros: job.monthSpendMicros };
    await emitLimitNoticesAfterBooking(tx, { ...job, before, addedMicros: cost.totalMicros });
  }
  return new Map(runs.map((run) => [run.job.jobId, toBookedCost(run)]));
}

interface PricedRun {
  job: CostedJob;
  cost: RunCost;
  prices: StoredPrice[];
  /** Time at which the run ended, which selects the day of its cost; null if the run never started. */
  endedAt: Date | null;
}

async function computePricedRun(
  tx: Transaction,
  job: CostedJob,
  sums: UsageSum[],
  reprice: boolean,
): Promise<PricedRun> {
  const { organizationId, startedAt, finishedAt, computeMicrosPerHour } = job;
  const { usages, prices } = await priceUsages(tx, organizationId, {
    usages: convertUsageSums(sums),
    stored: reprice ? [] : (job.prices ?? []),
  });
  const cost = computeRunCost({
    usages,
    runMs: startedAt && computeRunMs({ startedAt, finishedAt }),
    computeMicrosPerHour,
    reportedMicros: job.reportedCostMicros,
  });
  return { job, cost, prices, endedAt: startedAt && finishedAt };
}

function toBookedCost({ job, cost: { totalMicros } }: PricedRun): BookedCost {
  const { organizationId, batchId, bookedMicros } = job;
  const changed = BigInt(totalMicros) !== BigInt(bookedMicros ?? 0);
  return { organizationId, batchId, totalMicros, changed, isFirst: bookedMicros === null };
}

const costedJobs = `
  SELECT j.id AS job_id, j.organization_id, j.batch_id, s.monthly_run_limit, s.monthly_spend_limit_micros, j.workflow_id, j.agent_id, j.schedule_id, j.started_at, j.finished_at,
         j.reported_cost_micros, r.prices, r.total_micros AS booked_micros,
         COALESCE(r.compute_micros_per_hour, a.compute_micros_per_hour, s.compute_micros_per_hour)
           AS compute_micros_per_hour,
         COALESCE(c.runs, 0) AS month_runs, COALESCE(c.spend_micros, 0) AS month_spend_micros
  FROM job j
  LEFT JOIN agent a ON a.id = j.agent_id
  JOIN organization_settings s ON s.organization_id = j.organization_id
  LEFT JOIN run_cost r ON r.job_id = j.id
  LEFT JOIN usage_counter c ON c.organization_id = j.organization_id
    AND c.month = date_trunc('month', j.finished_at AT TIME ZONE 'UTC')::date
  WHERE j.id = ANY($1) AND j.finished_at IS NOT NULL`;

/** Writes the costs and marks their days as changed for the rollups. A run that never started belongs to no day. */
function storeRunCosts(tx: Transaction, runs: PricedRun[]): void {
  if (runs.length === 0) return;
  tx.deferStatement(
    `WITH cost AS (
       SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
           $8::jsonb[], $9::bigint[], $10::timestamptz[])
         AS c (job_id, organization_id, per_hour, compute, ai, reported, total, prices, duration_ms, ended_at)),
     change AS (
       INSERT INTO run_cost_change (organization_id, finished_at)
       SELECT organization_id, ended_at FROM cost WHERE ended_at IS NOT NULL)
     INSERT INTO run_cost
       (job_id, organization_id, compute_micros_per_hour, compute_micros, ai_micros, reported_micros, total_micros,
        prices, duration_ms)
     SELECT job_id, organization_id, per_hour, compute, ai, reported, total, prices, duration_ms FROM cost
     ON CONFLICT (job_id) DO UPDATE
     SET compute_micros = excluded.compute_micros, ai_micros = excluded.ai_micros,
         reported_micros = excluded.reported_micros, total_micros = excluded.total_micros, prices = excluded.prices,
         computed_at = muster_now()`,
    rowsToColumns(
      runs.map(({ job, cost: { computeMicros, aiMicros, reportedMicros, totalMicros }, prices, endedAt }) => [
        ...[job.jobId, job.organizationId, String(job.computeMicrosPerHour)],
        ...[computeMicros, aiMicros, reportedMicros, totalMicros].map(String),
        ...[JSON.stringify(prices), endedAt && endedAt.getTime() - job.startedAt!.getTime(), endedAt],
      ]),
    ),
    'write_run_costs',
  );
}
