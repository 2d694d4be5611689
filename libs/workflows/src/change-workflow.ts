import { audit, listChangedFields, type Principal } from '@muster/access';
import { usdToMicrosIfSet, type UpdateWorkflowBody, microsToUsdOrNull } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { toEtag, requireEtagMatch } from '@muster/platform';
import { requireInstallation } from '@muster/packs';
import { requireSensitiveVariables, requireVariablesOfKeys } from './check-variables';
import { resolveAccounts } from './resolve-accounts';
import { lockWorkflow, type WorkflowRow } from './workflow-row';

/** Changes a workflow's metadata. It saves no revision and does not change what runs execute. */
export async function updateWorkflow(
  tx: Transaction,
  caller: Principal,
  id: string,
  { change, ifMatch }: { change: UpdateWorkflowBody; ifMatch?: string },
): Promise<WorkflowRow> {
  const before = await lockWorkflow(tx, caller.organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const { name = before.name, description = before.description } = change;
  const maxCostUsd = change.maxCostUsd === undefined ? microsToUsdOrNull(before.maxCostMicros) : change.maxCostUsd;
  const { workflowPackInstallationId = before.workflowPackInstallationId } = change;
  const { concurrencyKeys = before.concurrencyKeys, accounts = before.accounts } = change;
  const { sensitiveVariables = before.sensitiveVariables, sensitiveResults = before.sensitiveResults } = change;
  if (change.concurrencyKeys) requireVariablesOfKeys(concurrencyKeys, before.variables);
  if (change.sensitiveVariables ?? change.concurrencyKeys)
    requireSensitiveVariables(sensitiveVariables, { variables: before.variables, concurrencyKeys });
  resolveAccounts({ requested: accounts });
  await requireInstallation(tx, caller.organizationId, change.workflowPackInstallationId);
  await tx.execute(
    `UPDATE workflow
     SET name = $2, description = $3, max_cost_micros = $4, workflow_pack_installation_id = $5, concurrency_keys = $6,
         accounts = $7, sensitive_variables = $8, sensitive_results = $9, version = version + 1, updated_at = muster_now()
     WHERE id = $1`,
    [
      ...[id, name, description, usdToMicrosIfSet(maxCostUsd), workflowPackInstallationId],
      ...[JSON.stringify(concurrencyKeys), JSON.stringify(accounts), sensitiveVariables, sensitiveResults],
    ],
  );
  audit(tx, caller, {
    action: 'workflow.update',
    target: { type: 'workflow', id },
    changes: listChangedFields(
      { ...before, maxCostUsd: microsToUsdOrNull(before.maxCostMicros) },
      {
        ...{ name, description, maxCostUsd, workflowPackInstallationId, concurrencyKeys, accounts },
        ...{ sensitiveVariables, sensitiveResults },
      },
    ),
  });
  return lockWorkflow(tx, caller.organizationId, id);
}

/** Archives a workflow: it is no longer listed and cannot be launched. Its runs keep their revisions. */
export async function archiveWorkflow(
  tx: Transaction,
  caller: Principal,
  id: string,
  { ifMatch }: { ifMatch?: string } = {},
): Promise<void> {
  const { name, version } = await lockWorkflow(tx, caller.organizationId, id);
  requireEtagMatch(ifMatch, toEtag(version));
  await tx.execute('UPDATE workflow SET archived_at = muster_now(), updated_at = muster_now() WHERE id = $1', [id]);
  audit(tx, caller, { action: 'workflow.archive', target: { type: 'workflow', id }, changes: { name } });
}
