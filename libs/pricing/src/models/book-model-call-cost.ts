import type { MicroUsd } from '@muster/contracts';
import type { ModelCallEntity, OrganizationSettingsEntity, Transaction } from '@muster/database';
import { computeRunCost } from '../costs/compute-run-cost';
import type { BookedCost } from '../costs/book-run-cost';
import { replaceCostComponents } from '../costs/replace-cost-components';
import { findPrices } from '../prices/find-prices';
import { recordSpendUsage } from '../usage/record-usage';
import { emitLimitNoticesAfterBooking } from '../usage/emit-limit-notices';

type BookedCall = Pick<
  ModelCallEntity,
  'organizationId' | 'purpose' | 'provider' | 'model' | 'agentId' | 'at' | 'costMicros'
> &
  Pick<OrganizationSettingsEntity, 'monthlySpendLimitMicros'> & {
    inputTokens: string;
    outputTokens: string;
    day: string;
    /** Spend of the call's month, before this booking. */
    spentMicros: MicroUsd;
  };

/**
 * Prices a model call by the price of its day and stores the cost. The difference to the amount booked before is booked
 * in the costs of its day and in the spend of its month. Null if there is no such call.
 */
export async function bookModelCallCost(
  tx: Transaction,
  callId: string,
): Promise<Pick<BookedCost, 'totalMicros' | 'changed'> | null> {
  tx.preferKeyIndexes();
  const [call] = await tx.query<BookedCall>(
    `SELECT organization_id, purpose, provider, model, agent_id, at, cost_micros, input_tokens::text AS input_tokens,
            output_tokens::text AS output_tokens, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
            (SELECT s.monthly_spend_limit_micros FROM organization_settings s
             WHERE s.organization_id = model_call.organization_id),
            (SELECT COALESCE(sum(c.spend_micros), 0)::bigint FROM usage_counter c
             WHERE c.organization_id = model_call.organization_id
               AND c.month = date_trunc('month', at AT TIME ZONE 'UTC')::date) AS spent_micros
     FROM model_call WHERE id = $1 FOR UPDATE`,
    [callId],
    'find_model_call',
  );
  if (!call) return null;
  const { organizationId, provider, model, agentId, at, day, purpose } = call;
  const priceOf = await findPrices(tx, organizationId, [{ provider, model, day }]);
  const usage = {
    ...{ provider, model, price: priceOf({ provider, model, day }), reportedMicros: null },
    ...{ inputTokens: BigInt(call.inputTokens), outputTokens: BigInt(call.outputTokens) },
  };
  const { components, totalMicros } = computeRunCost({
    ...{ usages: [usage], runMs: null, computeMicrosPerHour: 0, reportedMicros: null },
  });
  const owner = { jobId: callId, organizationId, workflowId: null, agentId, scheduleId: null, finishedAt: at, purpose };
  const isFree = usage.inputTokens + usage.outputTokens === 0n;
  replaceCostComponents(tx, [{ owner, components: isFree ? [] : components, isAgain: true }]);
  tx.deferStatement('UPDATE model_call SET cost_micros = $2 WHERE id = $1', [callId, totalMicros], 'cost_model_call');
  if (!isFree) {
    tx.deferStatement(
      'INSERT INTO run_cost_change (organization_id, finished_at) VALUES ($1, $2)',
      [organizationId, at],
      'model_call_cost_change',
    );
  }
  recordSpendUsage(tx, [{ jobId: callId, organizationId, totalMicros, finishedAt: at }]);
  const { monthlySpendLimitMicros } = call;
  await emitLimitNoticesAfterBooking(tx, {
    ...{ organizationId, finishedAt: at, monthlyRunLimit: null, monthlySpendLimitMicros },
    ...{ before: { runs: 0, spendMicros: call.spentMicros }, addedMicros: totalMicros },
  });
  return { totalMicros: Number(totalMicros), changed: totalMicros !== BigInt(call.costMicros) };
}
