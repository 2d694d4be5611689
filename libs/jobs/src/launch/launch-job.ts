import { type Actor, audit, requireExistingSecrets, getCallerChannel, sealVariables } from '@muster/access';
import {
  type AccountRequest,
  AppError,
  type ConcurrencyKey,
  type LaunchJobBody,
  type LifecycleSource,
  usdToMicrosIfSet,
  type MicroUsd,
  notFoundError,
  agentNotFoundError,
  checkVariableName,
  maskVariables,
  type StoredVariables,
} from '@muster/contracts';
import { buildRowStatements, type Transaction } from '@muster/database';
import { lockBundleOfInstallation, buildPackLineage } from '@muster/packs';
import { spendingLimitColumnsSql, type LimitFacts, getBillingMonth, reserveRuns } from '@muster/pricing';
import type { KeyRing } from '@muster/vault';
import { requireKeysWithoutSensitive, requireScriptOrSteps, resolveAccounts, runsAnythingSql } from '@muster/workflows';
import { requireAgentOrTarget, requireFittingAgent, toTargetColumns } from '../placement/target';
import { insertJob } from './insert-job';
import { fillVariablesIntoConcurrencyKeys } from './resolve-concurrency-keys';

export interface LaunchInput extends Omit<LaunchJobBody, 'variables'> {
  /** Values of the variables. Those of a schedule may be sealed already. */
  variables?: StoredVariables;
  source?: LifecycleSource;
  scheduleId?: string;
  /** Budget that the schedule sets for its runs. */
  maxCostMicros?: MicroUsd | null;
}

type Facts = LimitFacts & {
  workflowRevision: number | null;
  workflowVariables: string[];
  workflowRuns: boolean;
  workflowMaxCost: MicroUsd | null;
  workflowInstallationId: string | null;
  workflowKeys: ConcurrencyKey[] | null;
  workflowAccounts: AccountRequest[] | null;
  sensitiveVariables: string[];
  sensitiveResults: string[];
  agentStatus: string | null;
};

/**
 * Queues a run of the workflow's current revision. The run starts when its agent, or an agent with the labels of its
 * target, can start it.
 */
export async function launchJob(
  tx: Transaction,
  caller: Actor,
  input: LaunchInput,
  now: Date,
  /** Seals the sensitive variables. A workflow without any can be launched without it. */
  keyRing?: KeyRing,
): Promise<{ jobId: string; status: 'queued' }> {
  const { organizationId } = caller;
  const { workflowId, agentId, target, variables = {}, source = getCallerChannel(caller), ...request } = input;
  requireAgentOrTarget(input);
  const {
    maxCostUsd,
    maxCostMicros: scheduleMaxCost = null,
    workflowPackInstallationId,
    concurrencyKeys = [],
    accounts = [],
    ...options
  } = request;
  const [facts] = await tx.queryRow<Facts>(launchFacts, [
    ...[organizationId, workflowId, agentId ?? null, getBillingMonth(now)],
  ]);
  if (!facts?.workflowRevision) throw notFoundError('workflow');
  if (agentId && !facts.agentStatus) throw agentNotFoundError();
  const columns = toTargetColumns(target);
  if (columns.targetLabels) await requireFittingAgent(tx, organizationId, columns.targetLabels);
  const installationId = workflowPackInstallationId ?? facts.workflowInstallationId;
  requireScriptOrSteps(facts.workflowRuns || installationId !== null);
  requireWorkflowVariables(facts.workflowVariables, variables);
  requireVaultKeyNames(options.vaultKeys);
  requireKeysWithoutSensitive(concurrencyKeys, facts.sensitiveVariables);
  // Runs of a schedule are not checked here: the scheduler has checked their secrets and skips a run with a missing
  // secret.
  if (!options.scheduleId) await requireExistingSecrets(tx, organizationId, options.vaultKeys ?? []);
  // The installation's row is locked until the commit. This launch may have to wait for a transaction that pins a
  // version, and other launches must not wait with it.
  if (installationId) tx.requireOwnConnection();
  const installed = installationId
    ? buildPackLineage(await lockBundleOfInstallation(tx, organizationId, installationId))
    : {};
  const maxCostMicros = findSmallestLimit(usdToMicrosIfSet(maxCostUsd ?? null), scheduleMaxCost, facts.workflowMaxCost);
  await reserveRuns(tx, organizationId, { requested: { count: 1, maxCostMicros }, limits: facts, now });
  const jobId = await insertJob(tx, {
    ...options,
    ...installed,
    ...columns,
    organizationId,
    workflowId,
    workflowRevision: facts.workflowRevision,
    agentId: agentId ?? null,
    variables: await sealSensitiveVariables(tx, keyRing, organizationId, {
      variables,
      names: facts.sensitiveVariables,
    }),
    sensitiveResults: facts.sensitiveResults,
    concurrencyKeys: fillVariablesIntoConcurrencyKeys(
      { requested: concurrencyKeys, workflowKeys: facts.workflowKeys ?? [] },
      maskVariables(variables),
    ),
    accounts: resolveAccounts({ requested: accounts, workflowAccounts: facts.workflowAccounts }),
    maxCostMicros,
    source,
  });
  audit(tx, caller, {
    action: 'job.launch',
    target: { type: 'job', id: jobId },
    changes: { workflowId, ...(agentId ? { agentId } : { target }) },
  });
  return { jobId, status: 'queued' };
}

function sealSensitiveVariables(
  tx: Transaction,
  keyRing: KeyRing | undefined,
  organizationId: string,
  values: { variables: StoredVariables; names: readonly string[] },
): Promise<StoredVariables> | StoredVariables {
  if (values.names.length === 0) return values.variables;
  if (!keyRing) throw new Error('a workflow with sensitive variables was launched without a key ring');
  return sealVariables(tx, keyRing, organizationId, values);
}

const launchFacts = buildRowStatements(
  'launch_facts',
  { organization_id: 'uuid', workflow_id: 'uuid', agent_id: 'uuid', month: 'date' },
  (rows) => `
  SELECT input.member, ${spendingLimitColumnsSql('input.month')}, w.revision AS workflow_revision, r.variables AS workflow_variables,
         ${runsAnythingSql} AS workflow_runs, w.max_cost_micros AS workflow_max_cost,
         w.workflow_pack_installation_id AS workflow_installation_id, w.concurrency_keys AS workflow_keys,
         w.accounts AS workflow_accounts, w.sensitive_variables, w.sensitive_results, a.status AS agent_status
  FROM ${rows} JOIN organization o ON o.id = input.organization_id
  JOIN organization_settings s ON s.organization_id = o.id
  LEFT JOIN usage_counter c ON c.organization_id = o.id AND c.month = input.month
  LEFT JOIN workflow w ON w.id = input.workflow_id AND w.organization_id = o.id AND w.archived_at IS NULL
  LEFT JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision
  LEFT JOIN agent a ON a.id = input.agent_id AND a.organization_id = o.id AND a.status <> 'terminated'`,
);

/** Returns the smallest of the limits. A limit of null means no limit. */
export function findSmallestLimit(...limits: (MicroUsd | null)[]): MicroUsd | null {
  return limits.reduce((least, limit) => (limit !== null && (least === null || limit < least) ? limit : least), null);
}

/** Throws if a key is not a valid name of a secret, because no secret with such a name can exist. */
export function requireVaultKeyNames(vaultKeys: readonly string[] = []): void {
  const errors = vaultKeys.flatMap((key, at) => {
    const error = checkVariableName(key);
    return error ? [{ field: `vaultKeys.${at}`, message: error }] : [];
  });
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

/** Throws invalid_payload (400) if a variable is unknown to the workflow or missing. */
export function requireWorkflowVariables(names: readonly string[], values: StoredVariables): void {
  const errors = [
    ...Object.keys(values)
      .filter((name) => !names.includes(name))
      .map((name) => ({ field: `variables.${name}`, message: `the workflow has no variable ${name}` })),
    ...names
      .filter((name) => !Object.hasOwn(values, name))
      .map((name) => ({ field: `variables.${name}`, message: `the workflow needs the variable ${name}` })),
  ];
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}
