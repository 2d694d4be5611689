import { type Actor, audit, describeCaller } from '@muster/access';
import { type CreateWorkflowBody, usdToMicrosIfSet } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { requireInstallation } from '@muster/packs';
import { requireValidSteps } from './check-steps';
import { requireSensitiveVariables, requireVariablesOfKeys, requireVariableNames } from './check-variables';
import { resolveAccounts } from './resolve-accounts';
import { lockWorkflow, type WorkflowRow } from './workflow-row';

export async function createWorkflow(
  tx: Transaction,
  caller: Actor,
  body: CreateWorkflowBody,
  /** Id of the new workflow. Only a caller that has already stored objects under this id passes it. */
  id: string = newId(),
  source: WorkflowRow['source'] = null,
): Promise<WorkflowRow> {
  const { name, description = '', variables = [], script = '', steps = [], maxCostUsd = null } = body;
  const { workflowPackInstallationId = null, concurrencyKeys = [], accounts = [] } = body;
  const { sensitiveVariables = [], sensitiveResults = [] } = body;
  requireVariableNames(variables);
  requireVariablesOfKeys(concurrencyKeys, variables);
  requireSensitiveVariables(sensitiveVariables, { variables, concurrencyKeys });
  resolveAccounts({ requested: accounts });
  requireValidSteps(steps);
  await requireInstallation(tx, caller.organizationId, workflowPackInstallationId);
  await tx.execute(
    `INSERT INTO workflow (id, organization_id, name, description, max_cost_micros, workflow_pack_installation_id,
       source, concurrency_keys, accounts, sensitive_variables, sensitive_results)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
    [
      ...[
        id,
        caller.organizationId,
        name,
        description,
        usdToMicrosIfSet(maxCostUsd),
        workflowPackInstallationId,
        source,
      ],
      ...[JSON.stringify(concurrencyKeys), JSON.stringify(accounts), sensitiveVariables, sensitiveResults],
    ],
  );
  await tx.execute(
    `INSERT INTO workflow_revision (workflow_id, revision, organization_id, variables, script, steps, saved_by)
     VALUES ($1, 1, $2, $3, $4, $5, $6)`,
    [id, caller.organizationId, variables, script, JSON.stringify(steps), describeCaller(caller)],
  );
  audit(tx, caller, { action: 'workflow.create', target: { type: 'workflow', id }, changes: { name } });
  return lockWorkflow(tx, caller.organizationId, id);
}
