import type { MicroUsd } from '@muster/contracts';
import type { JobEntity, RunCostEntity, Transaction } from '@muster/database';
import { recordSpend, runMsOf } from '../usage/record-usage';
import { computeRunCost, type RunCost } from './compute-run-cost';
import { type KeptPrice, priceUsages, readUsages } from './price-usages';

type CostedJob = Pick<
  JobEntity,
  'organizationId' | 'workflowId' | 'agentId' | 'scheduleId' | 'startedAt' | 'reportedCostMicros'
> &
  Pick<RunCostEntity, 'computeMicrosPerHour'> & { finishedAt: Date; prices: KeptPrice[] | null };

/**
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
  { anew = false }: { anew?: boolean } = {},
): Promise<SettledCost | null> {
  // By itself: whoever waits for it must see the cost that its holder wrote, and the usages that came meanwhile.
  tx.defer('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId], 'lock_cost');
  const job = await findCostedJob(tx, jobId);
  if (!job) return null;
  const { organizationId, startedAt, finishedAt, computeMicrosPerHour, reportedCostMicros } = job;
  const { usages, prices } = await priceUsages(tx, organizationId, {
    usages: await readUsages(tx, jobId),
    kept: anew ? [] : (job.prices ?? []),
  });
  const cost = computeRunCost({
    usages,
    runMs: startedAt && runMsOf({ startedAt, finishedAt }),
    computeMicrosPerHour,
    reportedMicros: reportedCostMicros,
  });
  await writeCost(tx, { jobId, computeMicrosPerHour, organizationId, prices }, cost);
  await writeComponents(tx, { ...job, jobId }, cost);
  const { totalMicros } = cost;
  return { totalMicros, changed: await recordSpend(tx, { jobId, organizationId, totalMicros, finishedAt }) };
}

async function findCostedJob(tx: Transaction, jobId: string): Promise<CostedJob | undefined> {
  const [job] = await tx.query<CostedJob>(
    `SELECT j.organization_id, j.workflow_id, j.agent_id, j.schedule_id, j.started_at, j.finished_at,
            j.reported_cost_micros, r.prices,
            COALESCE(r.compute_micros_per_hour, a.compute_micros_per_hour, s.compute_micros_per_hour)
              AS compute_micros_per_hour
     FROM job j
     JOIN agent a ON a.id = j.agent_id
     JOIN organization_settings s ON s.organization_id = j.organization_id
     LEFT JOIN run_cost r ON r.job_id = j.id
     WHERE j.id = $1 AND j.finished_at IS NOT NULL`,
    [jobId],
    'find_costed_job',
  );
  return job;
}

async function writeCost(
  tx: Transaction,
  of: Pick<RunCostEntity, 'jobId' | 'organizationId' | 'computeMicrosPerHour'> & { prices: KeptPrice[] },
  { aiMicros, computeMicros, reportedMicros, totalMicros }: RunCost,
): Promise<void> {
  await tx.execute(
    `INSERT INTO run_cost
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
    ],
    'write_run_cost',
  );
}

async function writeComponents(
  tx: Transaction,
  of: CostedJob & { jobId: string },
  { components }: RunCost,
): Promise<void> {
  tx.defer('DELETE FROM run_cost_component WHERE job_id = $1', [of.jobId], 'clear_components');
  await tx.execute(
    `INSERT INTO run_cost_component (job_id, position, organization_id, workflow_id, agent_id, schedule_id, finished_at,
       kind, provider, model, quantity, unit, unit_price_usd, amount_micros, unpriced)
     SELECT $1, c.position, $2, $3, $4, $5, $6, c.kind, c.provider, c.model, c.quantity, c.unit, c.unit_price,
            c.amount, c.unpriced
     FROM unnest($7::text[], $8::text[], $9::text[], $10::numeric[], $11::text[], $12::numeric[], $13::bigint[],
       $14::boolean[]) WITH ORDINALITY
       AS c (kind, provider, model, quantity, unit, unit_price, amount, unpriced, position)`,
    [
      of.jobId,
      of.organizationId,
      of.workflowId,
      of.agentId,
      of.scheduleId,
      of.startedAt && of.finishedAt,
      components.map(({ kind }) => kind),
      components.map(({ provider }) => provider),
      components.map(({ model }) => model),
      components.map(({ quantity }) => quantity),
      components.map(({ unit }) => unit),
      components.map(({ unitPriceUsd }) => unitPriceUsd),
      components.map(({ amountMicros }) => String(amountMicros)),
      components.map(({ unpriced }) => unpriced),
    ],
    'write_components',
  );
}
