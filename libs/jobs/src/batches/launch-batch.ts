import { appendTimelines } from '@muster/timeline';
import { type Actor, audit, describeCaller, requireExistingSecrets, getCallerChannel } from '@muster/access';
import {
  type AccountRequest,
  AppError,
  type CheckBatchBody,
  type CheckedBatch,
  type ConcurrencyKey,
  type CreateBatchBody,
  type JobBundle,
  usdToMicrosIfSet,
  type MicroUsd,
  type RejectedRow,
} from '@muster/contracts';
import { recordOrganizationEvent, type Transaction } from '@muster/database';
import { getRequestContext, newId } from '@muster/platform';
import { lockBundleOfInstallation, buildPackLineage } from '@muster/packs';
import { reserveRuns } from '@muster/pricing';
import type { KeyRing } from '@muster/vault';
import { requireScriptOrSteps } from '@muster/workflows';
import { setImmediate as breathe } from 'node:timers/promises';
import { defaultMaxRuntimeMs, defaultPriority } from '../launch/insert-job';
import { insertWaitingAccounts } from '../accounts/accounts-sql';
import { insertWaitingKeys } from '../dispatch/concurrency-keys';
import { findSmallestLimit, requireVaultKeyNames } from '../launch/launch-job';
import { fillVariablesIntoConcurrencyKeys } from '../launch/resolve-concurrency-keys';
import { checkBatchRow, type InputRow, type RowRule } from './check-batch-row';
import { type CheckedRun, encodeVariablesOfRuns, type Run, rowsPerChunk, splitIntoChunks } from './batch-runs';
import { invalidPayloadError, readBatchLaunchFacts } from './read-batch-facts';
import { enqueuePlacementOfJobs } from '../placement/enqueue-placements';
import { digestLabels, requireFittingAgent, toTargetColumns } from '../placement/target';

export type BatchInput = Omit<CreateBatchBody, 'rows'>;
export type CheckInput = Omit<CheckBatchBody, 'rows'>;

export interface LaunchedBatch {
  batchId: string;
  queued: number;
  rejected: RejectedRow[];
  jobIds: string[];
}

/**
 * Queues a run for each valid row and returns the errors of the invalid rows. All runs are inserted in the caller's
 * transaction.
 */
export async function launchBatch(
  tx: Transaction,
  caller: Actor,
  { input, rows, now, keyRing }: { input: BatchInput; rows: readonly InputRow[]; now: Date; keyRing?: KeyRing },
): Promise<LaunchedBatch> {
  const { organizationId } = caller;
  const { workflowId, agentIds, target } = input;
  if ((agentIds === undefined) === (target === undefined)) {
    throw invalidPayloadError([{ field: 'agentIds', message: 'exactly one of agentIds and target is required' }]);
  }
  const checked = await checkBatchInput(tx, organizationId, { input, rows, now });
  const { facts, installationId, rejected } = checked;
  if (input.strict && rejected.length) throw rejectedRowsError(rejected);
  const maxCostMicros = findSmallestLimit(usdToMicrosIfSet(input.maxCostUsd ?? null), facts.workflowMaxCost);
  await reserveRuns(tx, organizationId, {
    requested: { count: checked.runs.length, maxCostMicros },
    limits: facts,
    now,
  });
  const installed = installationId
    ? buildPackLineage(await lockBundleOfInstallation(tx, organizationId, installationId))
    : null;
  const names = facts.sensitiveVariables;
  const runs = await encodeVariablesOfRuns(tx, organizationId, { runs: checked.runs, names, keyRing });
  const batchId = newId();
  const createdBy = describeCaller(caller);
  await tx.execute(
    `INSERT INTO batch
       (id, organization_id, workflow_id, workflow_revision, total, rejected, created_by, workflow_pack_installation_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      batchId,
      organizationId,
      workflowId,
      facts.workflowRevision,
      rows.length,
      rejected.length,
      createdBy,
      installationId,
    ],
  );
  for (const chunk of splitIntoChunks(runs)) {
    await insertRunsOfBatch(tx, {
      organizationId,
      batchId,
      revision: facts.workflowRevision!,
      input,
      installed,
      maxCostMicros,
      accounts: facts.workflowAccounts,
      sensitiveResults: facts.sensitiveResults,
      runs: chunk,
    });
  }
  await recordLaunchOnTimelines(tx, { organizationId, batchId, runs, source: getCallerChannel(caller) });
  const data = { batchId, workflowId, status: 'started', total: runs.length };
  recordOrganizationEvent(tx, { organizationId, type: 'batch', data });
  audit(tx, caller, {
    action: 'batch.create',
    target: { type: 'batch', id: batchId },
    changes: {
      workflowId,
      ...(target ? { target } : { agents: agentIds!.length }),
      queued: runs.length,
      rejected: rejected.length,
    },
  });
  return { batchId, queued: runs.length, rejected, jobIds: runs.map(({ id }) => id) };
}

/** Checks the rows of a batch without queueing a run. */
export async function checkRowsOfBatch(
  tx: Transaction,
  organizationId: string,
  { input, rows, now }: { input: CheckInput; rows: readonly InputRow[]; now: Date },
): Promise<CheckedBatch> {
  const { rejected } = await checkBatchInput(tx, organizationId, { input, rows, now });
  return { total: rows.length, wrong: rejected.length, rejected };
}

/**
 * Checks the parts of the request that apply to all rows, and then each row. Returns the runs that can be queued and
 * the rejected rows.
 */
async function checkBatchInput(
  tx: Transaction,
  organizationId: string,
  { input, rows, now }: { input: CheckInput; rows: readonly InputRow[]; now: Date },
) {
  const { workflowId, agentIds = [], target, vaultKeys } = input;
  const facts = await readBatchLaunchFacts(tx, organizationId, { workflowId, agentIds, now });
  if (target) await requireFittingAgent(tx, organizationId, target.labels);
  const installationId = input.workflowPackInstallationId ?? facts.workflowInstallationId;
  requireScriptOrSteps(facts.workflowRuns || installationId !== null);
  requireVaultKeyNames(vaultKeys);
  await requireExistingSecrets(tx, organizationId, vaultKeys ?? []);
  const rule = buildRowCheck(facts.workflowVariables, input);
  return {
    facts,
    installationId,
    ...(await separateValidBatchRows(rows, { rule, agentIds, keys: facts.workflowKeys ?? [] })),
  };
}

/**
 * Returns the rule by which each row is checked. Throws if the mapping or the default values name an unknown variable,
 * because that is one error of the request and not an error of each row.
 */
function buildRowCheck(names: readonly string[], { mapping, variables: defaults = {} }: CheckInput): RowRule {
  const listUnknownVariables = (field: string, values: Record<string, string>) =>
    Object.keys(values)
      .filter((name) => !names.includes(name))
      .map((name) => ({ field: `${field}.${name}`, message: `the workflow has no variable ${name}` }));
  const errors = [...listUnknownVariables('mapping', mapping ?? {}), ...listUnknownVariables('variables', defaults)];
  if (errors.length) throw invalidPayloadError(errors);
  return { names: new Set(names), mapping, defaults };
}

async function separateValidBatchRows(
  rows: readonly InputRow[],
  { rule, agentIds, keys }: { rule: RowRule; agentIds: string[]; keys: readonly ConcurrencyKey[] },
): Promise<{ runs: CheckedRun[]; rejected: RejectedRow[] }> {
  const runs: CheckedRun[] = [];
  const rejected: RejectedRow[] = [];
  for (const [at, inputRow] of rows.entries()) {
    if (at % rowsPerChunk === rowsPerChunk - 1) await breathe();
    const checked = checkBatchRow(inputRow, rule);
    const { row } = inputRow;
    const resolved = 'errors' in checked ? checked : resolveRowKeys(keys, checked.variables);
    if ('errors' in checked) rejected.push({ row, errors: checked.errors });
    else if ('errors' in resolved) rejected.push({ row, errors: resolved.errors });
    else {
      const agentId = agentIds[runs.length % agentIds.length] ?? null;
      runs.push({ id: newId(), agentId, row, variables: checked.variables, keys: resolved.keys });
    }
  }
  return { runs, rejected };
}

/** Returns the workflow's concurrency keys with the variables of the row filled in, as JSON. */
function resolveRowKeys(
  workflowKeys: readonly ConcurrencyKey[],
  variables: Record<string, string>,
): { keys: string | null } | { errors: string[] } {
  if (workflowKeys.length === 0) return { keys: null };
  try {
    return { keys: JSON.stringify(fillVariablesIntoConcurrencyKeys({ requested: [], workflowKeys }, variables)) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { errors: [error.message.replace(/\.$/, '')] };
  }
}

const shownErrors = 100;

function rejectedRowsError(rejected: RejectedRow[]): AppError {
  const errors = rejected.flatMap(({ row, errors: rowErrors }) =>
    rowErrors.map((message) => ({ field: `rows.${row}`, message })),
  );
  return new AppError('invalid_payload', {
    detail: `Nothing was queued because rows are not valid (${rejected.length}). Row ${rejected[0]!.row}: ${rejected[0]!.errors[0]}.`,
    errors: errors.slice(0, shownErrors),
    extra: { rejected },
  });
}

/**
 * Inserts the runs of a batch in the same way as insertJob inserts one run, but without a timeline entry and a queue
 * message for each run: recordLaunchOnTimelines writes these once per agent.
 */
async function insertRunsOfBatch(
  tx: Transaction,
  {
    organizationId,
    batchId,
    revision,
    input,
    installed,
    maxCostMicros,
    accounts,
    sensitiveResults,
    runs,
  }: {
    organizationId: string;
    batchId: string;
    revision: number;
    input: BatchInput;
    installed: { bundle: JobBundle; lineage: Record<string, string> } | null;
    maxCostMicros: MicroUsd | null;
    accounts: AccountRequest[] | null;
    sensitiveResults: string[];
    runs: Run[];
  },
): Promise<void> {
  const context = getRequestContext();
  const { targetLabels, targetPrefer } = toTargetColumns(input.target);
  await tx.execute(
    `WITH job AS (INSERT INTO job
       (id, organization_id, workflow_id, workflow_revision, agent_id, variables, vault_keys, priority, max_retries,
        retry_delay_ms, retry_backoff, max_runtime_ms, batch_id, batch_row, request_id, traceparent,
        max_cost_micros, reserved_micros, workflow_pack_installation_id, bundle, lineage, concurrency_keys, accounts,
        target_labels, target_prefer, target_group, retry_same_agent, sensitive_results)
     SELECT r.id, $1, $2, $3, r.agent_id, r.variables, $4, $5, $6, $7, $8, $9, $10, r.row, $11, $12, $17::bigint, COALESCE($17::bigint, 0),
            $18, $19, $20, r.keys, $22, $23::text[], $24, $25::uuid, $26, $27::text[]
     FROM unnest($13::uuid[], $14::uuid[], $15::int[], $16::jsonb[], $21::jsonb[]) AS r (id, agent_id, row, variables, keys)
     RETURNING id, organization_id, agent_id, priority, queued_at, concurrency_keys, accounts),
     ${insertWaitingKeys},
     ${insertWaitingAccounts}
     INSERT INTO job_log_seen (job_id, organization_id) SELECT id, organization_id FROM job`,
    [
      organizationId,
      input.workflowId,
      revision,
      input.vaultKeys ?? [],
      input.priority ?? defaultPriority,
      input.maxRetries ?? 0,
      input.retryDelayMs ?? 0,
      input.retryBackoff ?? 'fixed',
      input.maxRuntimeMs ?? defaultMaxRuntimeMs,
      batchId,
      context?.requestId ?? null,
      context?.traceparent ?? null,
      runs.map(({ id }) => id),
      runs.map(({ agentId }) => agentId),
      runs.map(({ row }) => row),
      runs.map(({ variables }) => variables),
      maxCostMicros,
      installed?.bundle.installationId ?? null,
      installed ? JSON.stringify(installed.bundle) : null,
      JSON.stringify(installed?.lineage ?? {}),
      runs.map(({ keys }) => keys),
      accounts?.length ? JSON.stringify(accounts) : null,
      ...[targetLabels, targetPrefer, targetLabels && digestLabels(targetLabels), input.retrySameAgent ?? false],
      sensitiveResults.length > 0 ? sensitiveResults : null,
    ],
    'insert_batch_jobs',
  );
}

/** Records the queued runs on their agents' timelines, and enqueues the dispatch of the agents. */
async function recordLaunchOnTimelines(
  tx: Transaction,
  {
    organizationId,
    batchId,
    runs,
    source,
  }: { organizationId: string; batchId: string; runs: Run[]; source: 'api' | 'console' },
): Promise<void> {
  const counts = new Map<string, number>();
  for (const { agentId } of runs) if (agentId) counts.set(agentId, (counts.get(agentId) ?? 0) + 1);
  const entries = [...counts].map(([agentId, queued]) => {
    const message = `queued ${queued} ${queued === 1 ? 'run' : 'runs'} of a batch`;
    const entry = { kind: 'execution', message, source, data: { batchId, queued } } as const;
    return { organizationId, agentId, entry };
  });
  appendTimelines(tx, entries);
  await tx.enqueue(
    ...entries.map(({ agentId }) => ({
      queue: 'dispatch' as const,
      name: 'dispatch-agent' as const,
      payload: { agentId },
    })),
  );
  // One message places all runs that name no agent, in the order in which they start.
  enqueuePlacementOfJobs(tx, organizationId);
}
