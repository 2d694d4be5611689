import { type RunCostComponentEntity, type Transaction, rowsToColumns } from '@muster/database';
import type { CostComponent } from './compute-run-cost';

/** Run or model call that the components belong to. Only a model call has a purpose. */
type ComponentsOwner = Pick<
  RunCostComponentEntity,
  'jobId' | 'organizationId' | 'workflowId' | 'agentId' | 'scheduleId' | 'finishedAt' | 'purpose'
>;

/** Components of one run or model call. */
export interface WrittenCost {
  owner: ComponentsOwner;
  components: CostComponent[];
  /** Whether components of this owner may have been written before. */
  isAgain: boolean;
}

/** Writes the components of each cost, and deletes those that were written before. */
export function replaceCostComponents(tx: Transaction, costs: WrittenCost[]): void {
  const again = costs.filter(({ isAgain }) => isAgain).map(({ owner }) => owner.jobId);
  if (again.length)
    tx.deferStatement('DELETE FROM run_cost_component WHERE job_id = ANY($1)', [again], 'clear_components');
  const rows = costs.flatMap(({ owner, components }) =>
    components.map(({ kind, provider, model, quantity, unit, unitPriceUsd, amountMicros, unpriced }, at) => [
      ...[owner.jobId, owner.organizationId, owner.workflowId, owner.agentId, owner.scheduleId, owner.finishedAt],
      ...[owner.purpose, at + 1, kind, provider, model, quantity, unit, unitPriceUsd, String(amountMicros), unpriced],
    ]),
  );
  if (rows.length) tx.deferStatement(insertComponents, rowsToColumns(rows), 'write_components');
}

const insertComponents = `
  INSERT INTO run_cost_component (job_id, organization_id, workflow_id, agent_id, schedule_id, finished_at, purpose,
    position, kind, provider, model, quantity, unit, unit_price_usd, amount_micros, unpriced)
  SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::uuid[], $6::timestamptz[], $7::text[],
    $8::int[], $9::text[], $10::text[], $11::text[], $12::numeric[], $13::text[], $14::numeric[], $15::bigint[],
    $16::boolean[])`;
