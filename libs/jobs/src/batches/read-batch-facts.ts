import {
  type AccountRequest,
  AppError,
  type ConcurrencyKey,
  type FieldError,
  type MicroUsd,
  notFoundError,
} from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { getBillingMonth, spendingLimitColumnsSql, type LimitFacts } from '@muster/pricing';
import { runsAnythingSql } from '@muster/workflows';

/** Facts about the organization, the workflow and the agents that a batch names. */
export type BatchFacts = LimitFacts & {
  workflowRevision: number | null;
  workflowVariables: string[];
  workflowRuns: boolean;
  workflowMaxCost: MicroUsd | null;
  workflowInstallationId: string | null;
  workflowKeys: ConcurrencyKey[] | null;
  workflowAccounts: AccountRequest[] | null;
  sensitiveVariables: string[];
  sensitiveResults: string[];
  agents: string[];
};

/** Throws not_found or agent_not_found if the workflow or an agent does not exist. */
export async function readBatchLaunchFacts(
  tx: Transaction,
  organizationId: string,
  { workflowId, agentIds, now }: { workflowId: string; agentIds: string[]; now: Date },
): Promise<BatchFacts> {
  const errors = agentIds.flatMap((id, at) =>
    isUuid(id) ? [] : [{ field: `agentIds.${at}`, message: `agentIds.${at} must be a UUID` }],
  );
  if (errors.length) throw invalidPayloadError(errors);
  const [facts] = await tx.query<BatchFacts>(
    `SELECT ${spendingLimitColumnsSql('$4')}, w.revision AS workflow_revision, r.variables AS workflow_variables,
            ${runsAnythingSql} AS workflow_runs, w.max_cost_micros AS workflow_max_cost,
            w.workflow_pack_installation_id AS workflow_installation_id, w.concurrency_keys AS workflow_keys,
            w.accounts AS workflow_accounts, w.sensitive_variables, w.sensitive_results,
            ARRAY(SELECT a.id FROM agent a WHERE a.id = ANY($3) AND a.organization_id = o.id
                  AND a.status <> 'terminated') AS agents
     FROM organization o
     JOIN organization_settings s ON s.organization_id = o.id
     LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = $4
     LEFT JOIN workflow w ON w.id = $2 AND w.organization_id = o.id AND w.archived_at IS NULL
     LEFT JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision
     WHERE o.id = $1`,
    [organizationId, workflowId, agentIds, getBillingMonth(now)],
    'batch_facts',
  );
  if (!facts?.workflowRevision) throw notFoundError('workflow');
  const unknownAgent = agentIds.find((id) => !facts.agents.includes(id.toLowerCase()));
  if (unknownAgent)
    throw new AppError('agent_not_found', {
      detail: `The organization has no agent ${unknownAgent}. Remove it from agentIds, or correct it.`,
    });
  return facts;
}

export function invalidPayloadError(errors: FieldError[]): AppError {
  return new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}
