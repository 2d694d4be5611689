import type { RunCostComponentEntity, Transaction } from '@muster/database';
import type { CostComponent } from './compute-run-cost';

/** Whose costs they are: a run's, or those of one call of a model, which has a purpose. */
type ComponentsOwner = Pick<
  RunCostComponentEntity,
  'jobId' | 'organizationId' | 'workflowId' | 'agentId' | 'scheduleId' | 'finishedAt' | 'purpose'
>;

/** Most have few; a plan that does not depend on how many is kept. */
const oneByOneUpTo = 4;

/** Writes what something cost, in place of what was written of it before. */
export function writeComponents(
  tx: Transaction,
  of: ComponentsOwner,
  { components, isAgain }: { components: CostComponent[]; isAgain: boolean },
): void {
  if (isAgain) tx.defer('DELETE FROM run_cost_component WHERE job_id = $1', [of.jobId], 'clear_components');
  const owner = [of.jobId, of.organizationId, of.workflowId, of.agentId, of.scheduleId, of.finishedAt, of.purpose];
  const rows = components.map(({ kind, provider, model, quantity, unit, unitPriceUsd, amountMicros, unpriced }, at) => [
    ...[at + 1, kind, provider, model, quantity, unit, unitPriceUsd, String(amountMicros), unpriced],
  ]);
  if (rows.length <= oneByOneUpTo) {
    for (const row of rows) tx.defer(`${intoComponents} VALUES (${parameters})`, [...owner, ...row], 'write_component');
    return;
  }
  tx.defer(
    `${intoComponents}
     SELECT $1, $2, $3, $4, $5, $6, $7, c.* FROM unnest($8::int[], $9::text[], $10::text[], $11::text[], $12::numeric[],
       $13::text[], $14::numeric[], $15::bigint[], $16::boolean[]) AS c`,
    [...owner, ...rows[0]!.map((_, column) => rows.map((row) => row[column]))],
    'write_components',
  );
}

const intoComponents = `
  INSERT INTO run_cost_component (job_id, organization_id, workflow_id, agent_id, schedule_id, finished_at, purpose,
    position, kind, provider, model, quantity, unit, unit_price_usd, amount_micros, unpriced)`;
const parameters = Array.from({ length: 16 }, (_, at) => `$${at + 1}`).join(', ');
