import { releaseMachineAndEndCommand } from '@muster/commands';
import {
  AppError,
  type JobLack,
  type JobStatus,
  type LifecycleSource,
  usdToMicros,
  openJobStatuses,
  type RunErrorCode,
  type ScriptErrorCode,
  type TerminalJobStatus,
} from '@muster/contracts';
import { type JobEntity, buildStatementForRow, buildRowStatements, type Transaction } from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { runInTrace } from '@muster/platform';
import { computeCostSoFar, readBillingLimits, recordRunUsage, reserveRuns } from '@muster/pricing';
import { emitEvent } from '@muster/webhooks';
import { releaseAccounts } from '../accounts/borrow-accounts';
import { releaseConcurrencyKeys } from '../dispatch/concurrency-keys';
import { buildEndEntry, insertJob } from '../launch/insert-job';
import { recordJobEntries } from '../launch/record-job-entry';
import { countStepsSql, type ProgressFacts } from '../lists/job-progress';
import { lockJob } from '../lists/job-row';
import { closeQuestions } from '../questions/close-questions';
import { saveSealedResults } from '../reports/seal-results';
import { recordRunSpan, getTraceOfRun } from './record-run-span';
import { computeRetryDelayMs } from './retry-delay';

/**
 * A terminal status with its error code. Every failure needs a code; getEndErrorCode returns the code of a cancelled
 * job.
 */
export type EndState =
  | { to: Extract<TerminalJobStatus, 'failed'>; errorCode: RunErrorCode | ScriptErrorCode }
  | { to: Exclude<TerminalJobStatus, 'failed'>; errorCode?: undefined };

export type JobEnd = EndState & EndFacts;

interface EndFacts {
  organizationId: string;
  jobId: string;
  source: LifecycleSource | 'worker';
  /** Agent that reports the end. If it is set, the job must belong to this agent. */
  agentId?: string | null;
  /** Statuses from which the job may end; by default all open statuses. */
  from?: readonly JobStatus[];
  error?: string | null;
  /** Data of the run that the service rejected permanently, for the field `incomplete` of the job. */
  incomplete?: JobLack[];
  result?: unknown;
  /** Seals the sensitive values of the result; required with `result`. */
  keyRing?: KeyRing;
  totalCostUsd?: number | null;
  screenshotKey?: string | null;
  percent?: number | null;
  /** False if the job must not be retried, for example because another attempt would end in the same way. */
  retries?: boolean;
  /**
   * Whether the machine, the concurrency keys and the accounts stay occupied until the processes that the job left are
   * killed. The caller starts the removal of these processes.
   */
  clears?: boolean;
}

export type EndOutcome = { applied: boolean; previous: JobStatus; retried: boolean } | null;

interface Ended
  extends
    Omit<ProgressFacts, 'status' | 'currentStep'>,
    Pick<
      JobEntity,
      | 'agentId'
      | 'targetLabels'
      | 'targetPrefer'
      | 'retrySameAgent'
      | 'startedAt'
      | 'attempt'
      | 'maxRetries'
      | 'retryDelayMs'
      | 'retryBackoff'
      | 'workflowId'
      | 'workflowRevision'
      | 'variables'
      | 'sensitiveResults'
      | 'vaultKeys'
      | 'concurrencyKeys'
      | 'accounts'
      | 'priority'
      | 'maxRuntimeMs'
      | 'maxCostMicros'
      | 'scheduleId'
      | 'batchId'
      | 'batchRow'
      | 'lineage'
      | 'bundle'
      | 'commandId'
      | 'traceparent'
    > {
  previous: JobEntity['status'];
  applied: boolean;
  finishedAt: NonNullable<JobEntity['finishedAt']>;
  cancelRequested: boolean;
  /** Whether the run has asked a person a question. */
  hasAsked: boolean;
}

/**
 * Ends a job; the first of several concurrent ends wins. The same transaction sets the billing guard, records the usage
 * event with its counters, releases the machine, inserts the retry, writes the timeline entry and enqueues the
 * messages. Returns null if the job does not exist.
 */
export async function finishJob(tx: Transaction, end: JobEnd): Promise<EndOutcome> {
  const ended = await updateEndedJob(tx, end);
  if (!ended) return null;
  const { previous, applied, agentId } = ended;
  if (!applied) return { applied, previous, retried: false };
  const { organizationId, jobId, to, source, error } = end;
  await saveSealedResults(tx, end, ended);
  if (agentId) releaseMachineAndEndCommand(tx, agentId, { jobId, to, error });
  if (ended.hasAsked) await closeQuestions(tx, { organizationId, jobId });
  const { startedAt, finishedAt } = ended;
  tx.onCommit(() => recordRunSpan(end, ended));
  recordRunUsage(tx, organizationId, [{ jobId, outcome: to, startedAt, finishedAt }]);
  const attemptsLeft = ended.attempt <= ended.maxRetries;
  // No retry is inserted for a run that is being cancelled.
  const tries = to === 'failed' && (end.retries ?? true) && attemptsLeft && !ended.cancelRequested;
  const refusal = tries ? await reserveBudgetForRetry(tx, end, ended) : null;
  const change = { jobId, status: to, previousStatus: previous, error, source } as const;
  const entry = buildEndEntry({ ...change, steps: ended, notRetried: refusal });
  recordJobEntries(tx, [{ organizationId, agentId, workflowId: ended.workflowId, jobId, entry }]);
  const retried = tries && refusal === null;
  if (retried) await insertRetryJob(tx, end, ended);
  tx.notify('job', jobId);
  // This transaction may belong to another trace, such as that of a cancel request. The message about the cost belongs
  // to the trace of the run.
  await runInTrace(getTraceOfRun(ended), () =>
    tx.enqueue({ queue: 'metering', name: 'job-finished', payload: { jobId } }),
  );
  if (agentId) enqueueNextDispatch(tx, agentId);
  // If processes of the job are still being removed from the machine, the end of their removal releases the keys and
  // accounts.
  if (ended.concurrencyKeys && !end.clears) await releaseConcurrencyKeys(tx, organizationId, [jobId]);
  if (ended.accounts && !end.clears) await releaseAccounts(tx, organizationId, [jobId]);
  emitEvent(tx, { organizationId, type: `job.${to}`, subjects: [{ id: jobId, details: { status: to } }] });
  return { applied, previous, retried };
}

/**
 * Enqueues the agent if another job waits for the agent, or for any agent. The check runs after the release of the
 * agent, and the release waits for a concurrent dispatch. A job that is launched after the check finds the agent free.
 * If the organization limits its runs, a job that only other agents fit may wait for the slot of this run, which the
 * dispatch then offers to it.
 */
function enqueueNextDispatch(tx: Transaction, agentId: string): void {
  tx.enqueueIf(isJobQueued, [agentId], { queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
}

const isJobQueued = {
  name: 'if_queued',
  columns: { agent_id: 'uuid' },
  holds: `LATERAL (
    (SELECT 1 AS one FROM job
     WHERE agent_id = input.agent_id AND status = 'queued' AND not_before <= muster_now() LIMIT 1)
    UNION ALL
    (SELECT 1 FROM agent a JOIN organization_settings s ON s.organization_id = a.organization_id
     JOIN job j ON j.organization_id = a.organization_id
     WHERE a.id = input.agent_id AND (a.placement OR s.max_concurrent_runs IS NOT NULL) AND j.status = 'queued'
       AND j.agent_id IS NULL AND j.not_before <= muster_now() LIMIT 1)
    LIMIT 1) waiting`,
};

/**
 * Ends the job's row. The lock is a separate statement, so that the steps are counted in their current state. A shared
 * transaction does not wait for a job that another transaction has locked; that job ends in a separate transaction.
 */
async function updateEndedJob(tx: Transaction, end: JobEnd): Promise<Ended | undefined> {
  const { organizationId, jobId } = end;
  const key = [jobId, organizationId];
  const [locked, ended] = await tx.queryStatements([
    tx.isShared ? buildStatementForRow(lockIfFree, key) : { name: 'lock_job', text: lockJob, values: key },
    buildStatementForRow(tx.isShared ? finishIfFree : finish, getEndValues(end)),
  ]);
  if (locked!.length === 0) tx.requireOwnConnection({ isUnchanged: ended!.length === 0 });
  return ended![0] as Ended | undefined;
}

const lockIfFree = buildRowStatements(
  'lock_job_if_free',
  { job_id: 'uuid', organization_id: 'uuid' },
  (rows) => `SELECT input.member FROM ${rows} CROSS JOIN LATERAL (
    SELECT FROM job WHERE id = input.job_id AND organization_id = input.organization_id FOR UPDATE SKIP LOCKED) locked`,
);

const endColumns = {
  ...{ job_id: 'uuid', organization_id: 'uuid', agent_id: 'uuid', status: 'text', by_worker: 'bool', error: 'text' },
  ...{ error_code: 'text', result: 'jsonb', cost_micros: 'bigint', screenshot_key: 'text', percent: 'float8' },
  ...{ from_statuses: 'jsonb', incomplete: 'jsonb' },
};

const buildFinishJobStatement = (name: string, lock: string) =>
  buildRowStatements(
    name,
    endColumns,
    (rows) => `
     WITH locked_job AS (
       SELECT job.id, job.status, input.member FROM ${rows} CROSS JOIN LATERAL (
         SELECT id, status FROM job
         WHERE id = input.job_id AND organization_id = input.organization_id AND (input.agent_id IS NULL OR agent_id = input.agent_id)
         ${lock}) job),
     updated_job AS (
       UPDATE job SET status = input.status, finished_at = muster_now(), billed_at = muster_now(),
         started_at = CASE WHEN input.by_worker THEN COALESCE(job.started_at, job.dispatched_at, muster_now()) ELSE job.started_at END,
         error = input.error, error_code = input.error_code,
         -- saveSealedResults stores the sensitive values encrypted. If a variable is sensitive, any value may contain it.
         result = CASE WHEN jsonb_path_exists(job.variables, '$.*.sealed') THEN NULL
           WHEN job.sensitive_results IS NULL OR jsonb_typeof(input.result) <> 'object' THEN input.result
           ELSE input.result - job.sensitive_results END,
         total_cost_micros = COALESCE(input.cost_micros, job.total_cost_micros),
         reported_cost_micros = COALESCE(input.cost_micros, job.reported_cost_micros),
         screenshot_key = COALESCE(input.screenshot_key, job.screenshot_key), percent = COALESCE(input.percent, job.percent),
         incomplete = COALESCE(input.incomplete, job.incomplete),
         waiting_reason = NULL, waiting_since = NULL
       FROM ${rows} JOIN locked_job ON locked_job.member = input.member
       WHERE job.id = input.job_id AND input.from_statuses ? locked_job.status AND job.billed_at IS NULL
         -- A job that was never dispatched cannot have run.
         AND (NOT input.by_worker OR job.command_id IS NOT NULL)
       RETURNING job.*)
     SELECT locked_job.member, locked_job.status AS previous, m.id IS NOT NULL AS applied, m.agent_id, m.finished_at,
            m.target_labels, m.target_prefer, m.retry_same_agent,
            m.started_at, m.attempt,
            m.max_retries, m.retry_delay_ms, m.retry_backoff, m.workflow_id, m.workflow_revision, m.variables, m.sensitive_results,
            m.vault_keys, m.concurrency_keys, m.accounts, m.priority, m.max_runtime_ms, m.max_cost_micros, m.schedule_id, m.batch_id, m.batch_row,
            m.lineage, m.bundle, m.command_id, m.traceparent,
            m.cancel_requested_at IS NOT NULL AS cancel_requested, m.percent,
            (SELECT q.job_id FROM question q WHERE q.job_id = locked_job.id LIMIT 1) IS NOT NULL AS has_asked, steps.*
     FROM locked_job LEFT JOIN updated_job m ON m.id = locked_job.id
     CROSS JOIN LATERAL ${countStepsSql('locked_job.id')} steps`,
  );

const finish = buildFinishJobStatement('finish_job', 'FOR UPDATE');
const finishIfFree = buildFinishJobStatement('finish_job_if_free', 'FOR UPDATE SKIP LOCKED');

function getEndValues(end: JobEnd): unknown[] {
  return [
    end.jobId,
    end.organizationId,
    end.agentId ?? null,
    end.to,
    end.source === 'worker',
    end.error ?? null,
    getEndErrorCode(end),
    end.result === undefined || end.result === null ? null : JSON.stringify(end.result),
    typeof end.totalCostUsd === 'number' ? usdToMicros(end.totalCostUsd) : null,
    end.screenshotKey ?? null,
    end.percent ?? null,
    JSON.stringify(end.from ?? openJobStatuses),
    end.incomplete?.length ? JSON.stringify(end.incomplete) : null,
  ];
}

export function getEndErrorCode(end: EndState): RunErrorCode | ScriptErrorCode | null {
  if (end.to === 'failed') return end.errorCode;
  return end.to === 'cancelled' ? 'cancelled' : null;
}

/**
 * Reserves another run of the monthly limits for a retry. Returns null, or the reason for which the limits do not allow
 * the retry. If the organization is suspended, the retry waits in the queue. The ended run reserves only its cost from
 * now on, so the retry can use the rest of the run's budget.
 */
async function reserveBudgetForRetry(
  tx: Transaction,
  { organizationId, jobId }: JobEnd,
  { maxCostMicros, finishedAt: now }: Ended,
): Promise<string | null> {
  const limits = await readBillingLimits(tx, organizationId, now);
  if (limits.suspended) return null;
  if (maxCostMicros !== null && limits.monthlySpendLimitMicros !== null) {
    const costMicros = await computeCostSoFar(tx, jobId);
    tx.deferStatement('UPDATE job SET reserved_micros = $2 WHERE id = $1', [jobId, costMicros ?? 0n], 'hold_cost');
  }
  try {
    await reserveRuns(tx, organizationId, { requested: { count: 1, maxCostMicros }, limits, now });
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'billing_gate_closed') return error.message;
    throw error;
  }
}

/** Inserts the retry as a new job. The ended job does not change any more. */
async function insertRetryJob(tx: Transaction, { organizationId, jobId }: JobEnd, ended: Ended): Promise<void> {
  const { attempt, retryBackoff, retryDelayMs } = ended;
  await insertJob(tx, {
    organizationId,
    // The dispatcher chooses an agent for the retry again, because another agent may be free sooner.
    agentId: ended.targetLabels && !ended.retrySameAgent ? null : ended.agentId,
    targetLabels: ended.targetLabels,
    targetPrefer: ended.targetPrefer,
    retrySameAgent: ended.retrySameAgent,
    workflowId: ended.workflowId,
    workflowRevision: ended.workflowRevision,
    variables: ended.variables,
    sensitiveResults: ended.sensitiveResults,
    vaultKeys: ended.vaultKeys,
    concurrencyKeys: ended.concurrencyKeys,
    accounts: ended.accounts,
    priority: ended.priority,
    maxRetries: ended.maxRetries,
    retryDelayMs,
    retryBackoff,
    maxRuntimeMs: ended.maxRuntimeMs,
    maxCostMicros: ended.maxCostMicros,
    scheduleId: ended.scheduleId,
    batchId: ended.batchId,
    batchRow: ended.batchRow,
    lineage: ended.lineage,
    bundle: ended.bundle,
    retryOf: jobId,
    attempt: attempt + 1,
    traceparent: ended.traceparent,
    delayMs: computeRetryDelayMs({ attempt, retryBackoff, retryDelayMs }, Math.random()),
    source: 'retry',
  });
}
