import type { JobEntity, RunCostEntity, Transaction } from '@muster/database';
import type { MicroUsd } from '@muster/contracts';
import { recordSpend, runMsOf } from '../usage/record-usage';
import { computeRunCost, type ModelUsage, type RunCost } from './compute-run-cost';

type CostedJob = Pick<
  JobEntity,
  'organizationId' | 'workflowId' | 'agentId' | 'scheduleId' | 'startedAt' | 'reportedCostMicros'
> &
  Pick<RunCostEntity, 'computeMicrosPerHour'> & { finishedAt: Date };

/**
 * Computes an ended run's cost, writes it beside the job and books the difference. Run again, after a late report, it
 * corrects; run twice, it changes nothing. Answers the whole; null: there is no such ended run.
 */
export async function settleRunCost(tx: Transaction, jobId: string): Promise<MicroUsd | null> {
  // By itself: whoever waits for it must see the cost that its holder wrote, and the usages that came meanwhile.
  tx.defer('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId], 'lock_cost');
  const job = await findCostedJob(tx, jobId);
  if (!job) return null;
  const { organizationId, startedAt, finishedAt, computeMicrosPerHour, reportedCostMicros } = job;
  const cost = computeRunCost({
    usages: await usagesOf(tx, jobId),
    runMs: startedAt && runMsOf({ startedAt, finishedAt }),
    computeMicrosPerHour,
    reportedMicros: reportedCostMicros,
  });
  await writeCost(tx, { jobId, computeMicrosPerHour, organizationId }, cost);
  await writeComponents(tx, { ...job, jobId }, cost);
  await recordSpend(tx, { jobId, organizationId, totalMicros: cost.totalMicros, finishedAt });
  return cost.totalMicros;
}

async function findCostedJob(tx: Transaction, jobId: string): Promise<CostedJob | undefined> {
  const [job] = await tx.query<CostedJob>(
    `SELECT j.organization_id AS "organizationId", j.workflow_id AS "workflowId", j.agent_id AS "agentId",
            j.schedule_id AS "scheduleId", j.started_at AS "startedAt", j.finished_at AS "finishedAt",
            j.reported_cost_micros AS "reportedCostMicros",
            COALESCE(r.compute_micros_per_hour, a.compute_micros_per_hour, s.compute_micros_per_hour)
              AS "computeMicrosPerHour"
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

interface UsageSum {
  provider: string;
  model: string;
  inputTokens: string;
  outputTokens: string;
  saidMicros: string | null;
}

export async function usagesOf(tx: Transaction, jobId: string): Promise<ModelUsage[]> {
  const sums = await tx.query<UsageSum>(
    `SELECT provider, model, sum(input_tokens)::text AS "inputTokens", sum(output_tokens)::text AS "outputTokens",
            sum(cost_micros)::text AS "saidMicros"
     FROM ai_usage WHERE job_id = $1 GROUP BY provider, model`,
    [jobId],
    'usages_of_run',
  );
  return sums.map(({ provider, model, inputTokens, outputTokens, saidMicros }) => ({
    provider,
    model,
    inputTokens: BigInt(inputTokens),
    outputTokens: BigInt(outputTokens),
    saidMicros: saidMicros === null ? null : BigInt(saidMicros),
    price: null,
  }));
}

async function writeCost(
  tx: Transaction,
  of: { jobId: string; organizationId: string; computeMicrosPerHour: MicroUsd },
  { aiMicros, computeMicros, reportedMicros, totalMicros }: RunCost,
): Promise<void> {
  await tx.execute(
    `INSERT INTO run_cost
       (job_id, organization_id, compute_micros_per_hour, compute_micros, ai_micros, reported_micros, total_micros)
     VALUES ($1, $2, $3, $4, $5, $6, $7)
     ON CONFLICT (job_id) DO UPDATE
     SET compute_micros = excluded.compute_micros, ai_micros = excluded.ai_micros,
         reported_micros = excluded.reported_micros, total_micros = excluded.total_micros, computed_at = now()`,
    [of.jobId, of.organizationId, of.computeMicrosPerHour, computeMicros, aiMicros, reportedMicros, totalMicros],
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
