import type { MicroUsd } from '@muster/contracts';
import type { JobEntity, RunCostEntity, Transaction } from '@muster/database';
import { recordSpend, runMsOf } from '../usage/record-usage';
import { computeRunCost, type RunCost } from './compute-run-cost';
import { type KeptPrice, priceUsages, usagesIn, usagesStatement, type UsageSum } from './price-usages';

type CostedJob = Pick<
  JobEntity,
  'organizationId' | 'workflowId' | 'agentId' | 'scheduleId' | 'startedAt' | 'reportedCostMicros'
> &
  Pick<RunCostEntity, 'computeMicrosPerHour'> & {
    finishedAt: Date;
    prices: KeptPrice[] | null;
    /** As it was settled before; null for the first time. */
    settledMicros: MicroUsd | null;
  };

/** A run's cost as it was settled, and whether that is another amount than before. */
export interface SettledCost {
  totalMicros: MicroUsd;
  changed: boolean;
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
  writeCost(tx, { jobId, computeMicrosPerHour, organizationId, prices, endedAt: startedAt && finishedAt }, cost);
  writeComponents(tx, job, cost);
  const { totalMicros } = cost;
  recordSpend(tx, { jobId, organizationId, totalMicros, finishedAt });
  return { totalMicros, changed: BigInt(totalMicros) !== BigInt(settledMicros ?? 0) };
}

const costedJob = `
  SELECT j.organization_id, j.workflow_id, j.agent_id, j.schedule_id, j.started_at, j.finished_at,
         j.reported_cost_micros, r.prices, r.total_micros AS settled_micros,
         COALESCE(r.compute_micros_per_hour, a.compute_micros_per_hour, s.compute_micros_per_hour)
           AS compute_micros_per_hour
  FROM job j
  JOIN agent a ON a.id = j.agent_id
  JOIN organization_settings s ON s.organization_id = j.organization_id
  LEFT JOIN run_cost r ON r.job_id = j.id
  WHERE j.id = $1 AND j.finished_at IS NOT NULL`;

/** With it the sums of its day are to be made anew; one that never started belongs to none. */
function writeCost(
  tx: Transaction,
  of: Pick<RunCostEntity, 'jobId' | 'organizationId' | 'computeMicrosPerHour'> & {
    prices: KeptPrice[];
    endedAt: Date | null;
  },
  { aiMicros, computeMicros, reportedMicros, totalMicros }: RunCost,
): void {
  tx.defer(
    `WITH change AS (
       INSERT INTO run_cost_change (organization_id, finished_at) SELECT $2, $9 WHERE $9::timestamptz IS NOT NULL)
     INSERT INTO run_cost
       (job_id, organization_id, compute_micros_per_hour, compute_micros, ai_micros, reported_micros, total_micros, prices)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
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
    ],
    'write_run_cost',
  );
}

/** Most runs have few; a plan that does not depend on how many is kept. */
const oneByOneUpTo = 4;

function writeComponents(tx: Transaction, of: CostedJob & { jobId: string }, { components }: RunCost): void {
  if (of.settledMicros !== null) {
    tx.defer('DELETE FROM run_cost_component WHERE job_id = $1', [of.jobId], 'clear_components');
  }
  const { jobId, organizationId, workflowId, agentId, scheduleId, startedAt, finishedAt } = of;
  const owner = [jobId, organizationId, workflowId, agentId, scheduleId, startedAt && finishedAt];
  const rows = components.map(({ kind, provider, model, quantity, unit, unitPriceUsd, amountMicros, unpriced }, at) => [
    ...[at + 1, kind, provider, model, quantity, unit, unitPriceUsd, String(amountMicros), unpriced],
  ]);
  if (rows.length <= oneByOneUpTo) {
    for (const row of rows) tx.defer(`${intoComponents} VALUES (${parameters})`, [...owner, ...row], 'write_component');
    return;
  }
  tx.defer(
    `${intoComponents}
     SELECT $1, $2, $3, $4, $5, $6, c.* FROM unnest($7::int[], $8::text[], $9::text[], $10::text[], $11::numeric[],
       $12::text[], $13::numeric[], $14::bigint[], $15::boolean[]) AS c`,
    [...owner, ...rows[0]!.map((_, column) => rows.map((row) => row[column]))],
    'write_components',
  );
}

const intoComponents = `
  INSERT INTO run_cost_component (job_id, organization_id, workflow_id, agent_id, schedule_id, finished_at, position,
    kind, provider, model, quantity, unit, unit_price_usd, amount_micros, unpriced)`;
const parameters = Array.from({ length: 15 }, (_, at) => `$${at + 1}`).join(', ');
