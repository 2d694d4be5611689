import { AppError, microsToUsd } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { type ModelMeter, modelProvider, type ModelUse } from '@muster/models';
import { newId } from '@muster/platform';
import { decideBillingGate, readGateFacts } from '../usage/billing-gate';
import { bookModelCallCost } from './book-model-call-cost';
import type { ModelCaller, ModelParts } from './model-caller';

/**
 * Meters model calls. Before a call, checks the billing gate and inserts a row that survives a crash. After the call,
 * stores its usage, prices it and books the cost.
 */
export function createCallMeter(
  { database, clock }: Pick<ModelParts, 'database' | 'clock'>,
  caller: ModelCaller,
): ModelMeter {
  const { organizationId, purpose, agentId = null, jobId = null, sessionId = null, keep } = caller;
  return {
    open: async (model) => {
      const id = newId();
      await database.transaction({ organizationId }, async (tx) => {
        await requireSpendBudget(tx, organizationId, clock.now());
        tx.deferStatement(
          `INSERT INTO model_call (id, organization_id, purpose, provider, model, agent_id, job_id, session_id, at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
          [id, organizationId, purpose, modelProvider, model, agentId, jobId, sessionId, clock.now()],
          'open_model_call',
        );
      });
      return (use) =>
        database.transaction({ organizationId }, async (tx) => {
          const costMicros = await closeModelCall(tx, { id, organizationId }, use);
          const { content, inputTokens, outputTokens } = use;
          if (use.outcome === 'answered')
            keep?.(tx, { modelCallId: id, content, inputTokens, outputTokens, costMicros });
          return costMicros;
        });
    },
  };
}

/**
 * Throws billing_gate_closed if the billing gate is closed for model calls. The monthly run limit does not apply to
 * model calls, but the spend that is reserved for open runs counts.
 */
async function requireSpendBudget(tx: Transaction, organizationId: string, now: Date): Promise<void> {
  const facts = await readGateFacts(tx, organizationId, now);
  const { canLaunchRuns: isOpen, reason } = decideBillingGate({ ...facts, monthlyRunLimit: null });
  if (!isOpen) throw new AppError('billing_gate_closed', { detail: `The language model cannot be called: ${reason}.` });
  const { monthlySpendLimitMicros: limit, spendMicros, reservedMicros } = facts;
  if (limit === null || BigInt(spendMicros) + BigInt(reservedMicros) < BigInt(limit)) return;
  throw new AppError('billing_gate_closed', {
    detail: `The language model cannot be called: open runs reserve the rest of the monthly limit of ${microsToUsd(limit)} USD. Wait until runs have ended, or ask an admin to raise the limit.`,
  });
}

async function closeModelCall(
  tx: Transaction,
  { id, organizationId }: { id: string; organizationId: string },
  { inputTokens, outputTokens, estimated, outcome, durationMs }: ModelUse,
): Promise<number> {
  tx.deferStatement(
    `UPDATE model_call SET input_tokens = $3, output_tokens = $4, estimated = $5, outcome = $6, duration_ms = $7
     WHERE id = $1 AND organization_id = $2 AND outcome IN ('open', 'lost')`,
    [id, organizationId, inputTokens, outputTokens, estimated, outcome, durationMs],
    'close_model_call',
  );
  return Number((await bookModelCallCost(tx, id))?.totalMicros ?? 0);
}
