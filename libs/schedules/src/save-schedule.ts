import { audit, listChangedFields, type Principal, requireExistingSecrets, sealVariables } from '@muster/access';
import {
  AppError,
  type CreateScheduleBody,
  type FieldError,
  usdToMicrosIfSet,
  notFoundError,
  agentNotFoundError,
  isSealedValue,
  sealedMark,
  type StoredVariables,
  type UpdateScheduleBody,
  microsToUsdOrNull,
} from '@muster/contracts';
import type { OrganizationSettingsEntity, Transaction, WorkflowEntity, WorkflowRevisionEntity } from '@muster/database';
import {
  presentTarget,
  requireAgentOrTarget,
  requireFittingAgent,
  requireVaultKeyNames,
  requireWorkflowVariables,
  toTargetColumns,
} from '@muster/jobs';
import { requireInstallation } from '@muster/packs';
import { toEtag, newId, requireEtagMatch } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import {
  requireKeysWithoutSensitive,
  requireVariablesOfKeys,
  requireScriptOrSteps,
  resolveAccounts,
  runsAnythingSql,
} from '@muster/workflows';
import { parseCron, parseCronOrFault } from './cron/cron-rule';
import { findNextRun } from './cron/find-next-run';
import { lockSchedule, type ScheduleRow } from './schedule-row';
import { checkTimezone } from './cron/timezone';

const defaults = {
  agentId: null,
  targetLabels: null,
  targetPrefer: null,
  enabled: true,
  variables: {},
  vaultKeys: [],
  concurrencyKeys: [],
  accounts: [],
  maxRuntimeMinutes: 720,
  maxRetries: 0,
  retryDelaySeconds: 0,
  concurrencyLimit: null,
  idempotencyWindowMinutes: null,
  misfirePolicy: 'once',
  maxCostMicros: null,
  workflowPackInstallationId: null,
} as const;

/** The part of a schedule that a user defines. */
type Definition = Pick<ScheduleRow, 'name' | 'scriptId' | 'cronExpression' | 'timezone' | keyof typeof defaults>;

export async function createSchedule(
  tx: Transaction,
  caller: Principal,
  body: CreateScheduleBody,
  { now, keyRing }: { now: Date; keyRing: KeyRing },
): Promise<ScheduleRow> {
  const { organizationId } = caller;
  requireAgentOrTarget(body);
  const timezone = body.timezone ?? (await readOrganizationTimezone(tx, organizationId));
  const definition: Definition = { ...defaults, ...toDefinitionChange(body), timezone } as Definition;
  requireValidDefinition(definition);
  await requireInstallation(tx, organizationId, definition.workflowPackInstallationId);
  definition.variables = await requireRunnableDefinition(tx, organizationId, { definition, keyRing });
  await requireExistingSecrets(tx, organizationId, definition.vaultKeys);
  const id = newId();
  await tx.execute(
    `INSERT INTO schedule
       (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, enabled, variables, vault_keys,
        max_runtime_minutes, max_retries, retry_delay_seconds, concurrency_limit, idempotency_window_minutes,
        misfire_policy, max_cost_micros, workflow_pack_installation_id, concurrency_keys, accounts, target_labels,
        target_prefer, next_run_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)`,
    [id, organizationId, ...getDefinitionValues(definition), computeFirstRun(definition, now)],
  );
  audit(tx, caller, {
    action: 'schedule.create',
    target: { type: 'schedule', id },
    changes: presentForAudit(definition),
  });
  return lockSchedule(tx, organizationId, id);
}

/** Changes the specified fields. A new time takes effect now; times that were missed before are not made up for. */
export async function updateSchedule(
  tx: Transaction,
  caller: Principal,
  id: string,
  { change, ifMatch, now, keyRing }: { change: UpdateScheduleBody; ifMatch?: string; now: Date; keyRing: KeyRing },
): Promise<ScheduleRow> {
  const { organizationId } = caller;
  if (change.agentId && change.target) requireAgentOrTarget(change);
  const before = await lockSchedule(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const definition: Definition = { ...toScheduleDefinition(before), ...toDefinitionChange(change) };
  definition.variables = restoreMaskedValues(definition.variables, before.variables);
  requireValidDefinition(definition);
  await requireInstallation(tx, organizationId, change.workflowPackInstallationId);
  // Only new secrets are checked: a schedule whose secret was deleted can still be renamed, disabled or changed to
  // another secret.
  await requireExistingSecrets(tx, organizationId, change.vaultKeys ?? []);
  // A schedule whose workflow is archived can still be renamed or disabled.
  const isPackRemoved = change.workflowPackInstallationId === null;
  if (
    isPackRemoved ||
    (change.scriptId ??
      change.agentId ??
      change.target ??
      change.variables ??
      change.concurrencyKeys ??
      change.accounts ??
      change.enabled)
  ) {
    definition.variables = await requireRunnableDefinition(tx, organizationId, { definition, keyRing });
  }
  const sameTimes =
    definition.cronExpression === before.cronExpression &&
    definition.timezone === before.timezone &&
    definition.enabled === before.enabled;
  await tx.execute(
    `UPDATE schedule
     SET name = $3, workflow_id = $4, agent_id = $5, cron_expression = $6, timezone = $7, enabled = $8,
         variables = $9, vault_keys = $10, max_runtime_minutes = $11, max_retries = $12, retry_delay_seconds = $13,
         concurrency_limit = $14, idempotency_window_minutes = $15, misfire_policy = $16, max_cost_micros = $17,
         workflow_pack_installation_id = $18, concurrency_keys = $19, accounts = $20, target_labels = $21, target_prefer = $22, next_run_at = $23,
         version = version + 1, updated_at = muster_now()
     WHERE id = $1 AND organization_id = $2`,
    [
      id,
      organizationId,
      ...getDefinitionValues(definition),
      sameTimes ? before.nextRunAt : computeFirstRun(definition, now),
    ],
  );
  audit(tx, caller, {
    action: 'schedule.update',
    target: { type: 'schedule', id },
    changes: {
      ...listChangedFields(presentForAudit(toScheduleDefinition(before)), presentForAudit(definition)),
      ...(change.variables ? { variables: Object.keys(definition.variables) } : {}),
    },
  });
  return lockSchedule(tx, organizationId, id);
}

/** Disables the schedule and retains its history; `hard` deletes both. Its jobs remain in either case. */
export async function deleteSchedule(
  tx: Transaction,
  caller: Principal,
  id: string,
  { hard, ifMatch }: { hard: boolean; ifMatch?: string },
): Promise<void> {
  const { organizationId } = caller;
  const { name, version } = await lockSchedule(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(version));
  if (hard) await tx.execute('DELETE FROM schedule WHERE id = $1 AND organization_id = $2', [id, organizationId]);
  else {
    await tx.execute(
      `UPDATE schedule SET enabled = false, next_run_at = NULL, version = version + 1, updated_at = muster_now()
       WHERE id = $1 AND organization_id = $2`,
      [id, organizationId],
    );
  }
  audit(tx, caller, {
    action: hard ? 'schedule.delete' : 'schedule.disable',
    target: { type: 'schedule', id },
    changes: { name },
  });
}

/** Throws invalid_payload if the expression or the timezone is not valid. */
export function requireValidCron({ cronExpression, timezone }: { cronExpression: string; timezone: string }): void {
  const cron = parseCronOrFault(cronExpression).fault;
  const zone = checkTimezone(timezone);
  throwIfFieldErrors([
    ...(cron ? [{ field: 'cronExpression', message: `not a cron expression: ${cron}` }] : []),
    ...(zone ? [{ field: 'timezone', message: `not a timezone: ${zone}` }] : []),
  ]);
}

function requireValidDefinition(definition: Definition): void {
  requireValidCron(definition);
  requireVaultKeyNames(definition.vaultKeys);
}

/** A client that read the schedule sends back the marks of sealed values, which then stay as they are. */
function restoreMaskedValues(variables: StoredVariables, before: StoredVariables): StoredVariables {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [
      name,
      value === sealedMark && isSealedValue(before[name]) ? before[name] : value,
    ]),
  );
}

/** Throws unless the schedule can run. Returns its variables, of which the sensitive ones are sealed. */
async function requireRunnableDefinition(
  tx: Transaction,
  organizationId: string,
  { definition, keyRing }: { definition: Definition; keyRing: KeyRing },
): Promise<StoredVariables> {
  const [found] = await tx.query<{
    variables: WorkflowRevisionEntity['variables'] | null;
    runs: boolean;
    installationId: string | null;
    agent: string | null;
    workflowAccounts: WorkflowEntity['accounts'];
    sensitiveVariables: WorkflowEntity['sensitiveVariables'];
  }>(
    `SELECT r.variables, ${runsAnythingSql} AS runs,
            w.workflow_pack_installation_id AS installation_id, w.accounts AS workflow_accounts,
            w.sensitive_variables,
            (SELECT id FROM agent WHERE id = $3 AND organization_id = $1 AND status <> 'terminated') AS agent
     FROM workflow w JOIN workflow_revision r ON r.workflow_id = w.id AND r.revision = w.revision
     WHERE w.id = $2 AND w.organization_id = $1 AND w.archived_at IS NULL`,
    [organizationId, definition.scriptId, definition.agentId],
  );
  if (!found?.variables) throw notFoundError('workflow');
  if (definition.targetLabels) await requireFittingAgent(tx, organizationId, definition.targetLabels);
  else if (!found.agent) throw agentNotFoundError();
  requireScriptOrSteps(found.runs || (definition.workflowPackInstallationId ?? found.installationId) !== null);
  requireWorkflowVariables(found.variables, definition.variables);
  requireVariablesOfKeys(definition.concurrencyKeys, found.variables);
  requireKeysWithoutSensitive(definition.concurrencyKeys, found.sensitiveVariables);
  resolveAccounts({ requested: definition.accounts, workflowAccounts: found.workflowAccounts });
  const { variables } = definition;
  return sealVariables(tx, keyRing, organizationId, { variables, names: found.sensitiveVariables });
}

function throwIfFieldErrors(errors: FieldError[]): void {
  if (errors.length) throw new AppError('invalid_payload', { detail: `${errors[0]!.message}.`, errors });
}

function computeFirstRun({ cronExpression, timezone, enabled }: Definition, now: Date): Date | null {
  return enabled ? (findNextRun(parseCron(cronExpression), timezone, now)?.at ?? null) : null;
}

export async function readOrganizationTimezone(tx: Transaction, organizationId: string): Promise<string> {
  const [settings] = await tx.query<Pick<OrganizationSettingsEntity, 'timezone'>>(
    'SELECT timezone FROM organization_settings WHERE organization_id = $1',
    [organizationId],
  );
  return settings?.timezone ?? 'UTC';
}

/** Converts a request body to the row's values; leaves out absent fields. */
function toDefinitionChange({ maxCostUsd, target, agentId, ...body }: UpdateScheduleBody): Partial<Definition> {
  const maxCostMicros = usdToMicrosIfSet(maxCostUsd);
  // If the request names an agent, the target is removed, and the other way round.
  const place = target ? { agentId: null } : agentId ? { agentId } : {};
  const runsOn = target || agentId ? { ...place, ...toTargetColumns(target) } : {};
  const set = {
    ...body,
    ...runsOn,
    maxCostMicros: typeof maxCostMicros === 'bigint' ? Number(maxCostMicros) : maxCostMicros,
  };
  return Object.fromEntries(Object.entries(set).filter(([, value]) => value !== undefined));
}

/**
 * Returns the definition for the audit trail, in the form of the API. It contains the names of the variables, not their
 * values.
 */
function presentForAudit({ maxCostMicros, variables, targetLabels, targetPrefer, ...others }: Definition) {
  const target = presentTarget({ targetLabels, targetPrefer });
  return { target, ...others, maxCostUsd: microsToUsdOrNull(maxCostMicros), variables: Object.keys(variables) };
}

function toScheduleDefinition(row: ScheduleRow): Definition {
  const { targetLabels, targetPrefer } = row;
  const { name, scriptId, agentId, cronExpression, timezone, enabled, variables, vaultKeys } = row;
  const { maxRuntimeMinutes, maxRetries, retryDelaySeconds } = row;
  const { concurrencyLimit, idempotencyWindowMinutes, misfirePolicy, maxCostMicros } = row;
  const { workflowPackInstallationId, concurrencyKeys, accounts } = row;
  return {
    name,
    scriptId,
    agentId,
    targetLabels,
    targetPrefer,
    cronExpression,
    timezone,
    enabled,
    variables,
    vaultKeys,
    maxRuntimeMinutes,
    maxRetries,
    retryDelaySeconds,
    concurrencyLimit,
    idempotencyWindowMinutes,
    misfirePolicy,
    maxCostMicros,
    workflowPackInstallationId,
    concurrencyKeys,
    accounts,
  };
}

function getDefinitionValues(definition: Definition): unknown[] {
  return [
    definition.name,
    definition.scriptId,
    definition.agentId,
    definition.cronExpression,
    definition.timezone,
    definition.enabled,
    JSON.stringify(definition.variables),
    definition.vaultKeys,
    definition.maxRuntimeMinutes,
    definition.maxRetries,
    definition.retryDelaySeconds,
    definition.concurrencyLimit,
    definition.idempotencyWindowMinutes,
    definition.misfirePolicy,
    definition.maxCostMicros,
    definition.workflowPackInstallationId,
    JSON.stringify(definition.concurrencyKeys),
    JSON.stringify(definition.accounts),
    definition.targetLabels,
    definition.targetPrefer,
  ];
}
