import { type CostComponent, type JobCost, notFoundError, microsToUsd } from '@muster/contracts';
import type { Database, RunCostComponentEntity, RunCostEntity } from '@muster/database';

type Part = Pick<
  RunCostComponentEntity,
  'kind' | 'provider' | 'model' | 'quantity' | 'unit' | 'unitPriceUsd' | 'amountMicros' | 'unpriced'
>;
/** A job without a cost is one row of nulls. */
type Row = { jobId: string } & (
  (Pick<RunCostEntity, 'totalMicros' | 'computedAt'> & Partial<Part>) | { totalMicros: null; computedAt: null }
);

/** Reads a run's cost and its components in one statement, so that they are consistent. */
export async function readRunCost(database: Database, organizationId: string, jobId: string): Promise<JobCost> {
  const rows = await database.query<Row>(
    { organizationId },
    `SELECT j.id AS job_id, r.total_micros, r.computed_at, c.kind, c.provider, c.model, c.quantity, c.unit,
            c.unit_price_usd, c.amount_micros, c.unpriced
     FROM job j
     LEFT JOIN run_cost r ON r.job_id = j.id
     LEFT JOIN run_cost_component c ON c.job_id = r.job_id AND c.organization_id = j.organization_id
     WHERE j.id = $1 AND j.organization_id = $2 ORDER BY c.position`,
    [jobId, organizationId],
    'read_run_cost',
  );
  const [first] = rows;
  if (!first) throw notFoundError('job');
  return {
    jobId,
    totalUsd: microsToUsd(first.totalMicros ?? 0),
    computedAt: first.computedAt?.toISOString() ?? null,
    components: (rows as Partial<Part>[])
      .filter((row): row is Part => typeof row.kind === 'string')
      .map(presentCostComponent),
  };
}

function presentCostComponent(row: Part): CostComponent {
  const { kind, provider, model, quantity, unit, unitPriceUsd, amountMicros, unpriced } = row;
  return {
    kind,
    ...(provider === null || model === null ? {} : { provider, model }),
    quantity: Number(quantity),
    unit: unit as CostComponent['unit'],
    unitPriceUsd: Number(unitPriceUsd),
    amountUsd: microsToUsd(amountMicros),
    ...(unpriced ? { unpriced } : {}),
  };
}
