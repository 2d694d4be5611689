import type { TimelineEntry } from '@muster/timeline';
import type {
  AccountRequest,
  ConcurrencyKey,
  JobBundle,
  JobStatus,
  LifecycleSource,
  MicroUsd,
  StoredVariables,
  TargetPreference,
  TerminalJobStatus,
} from '@muster/contracts';
import type { RowStatement, Transaction } from '@muster/database';
import { continueTrace, getRequestContext, newId, getCurrentSpanIfSameTrace } from '@muster/platform';
import { insertWaitingAccounts } from '../accounts/accounts-sql';
import { insertWaitingKeys } from '../dispatch/concurrency-keys';
import { type ProgressFacts, computeJobProgress } from '../lists/job-progress';
import { digestLabels } from '../placement/target';
import { recordJobEntries } from './record-job-entry';

export interface NewJob {
  organizationId: string;
  workflowId: string;
  workflowRevision: number;
  /** Null if the job has a target; the dispatcher then chooses the agent. */
  agentId: string | null;
  /** Labels that the agent must have; null if the job names its agent. */
  targetLabels?: string[] | null;
  targetPrefer?: TargetPreference | null;
  retrySameAgent?: boolean;
  /** Values of the workflow's variables; the sensitive ones are sealed. */
  variables: StoredVariables;
  /** Names in the result that are sealed at the end. */
  sensitiveResults?: string[] | null;
  vaultKeys?: string[];
  /** Concurrency keys in which the variables are already filled in. */
  concurrencyKeys?: Required<ConcurrencyKey>[] | null;
  accounts?: AccountRequest[] | null;
  priority?: number;
  maxRetries?: number;
  retryDelayMs?: number;
  retryBackoff?: 'fixed' | 'exponential';
  maxRuntimeMs?: number;
  maxCostMicros?: MicroUsd | null;
  scheduleId?: string | null;
  batchId?: string | null;
  batchRow?: number | null;
  retryOf?: string | null;
  attempt?: number;
  /**
   * Pack bundle that the job runs instead of a script. `lineage` contains the environment variables that describe the
   * bundle to the script.
   */
  bundle?: JobBundle | null;
  lineage?: Record<string, string>;
  /** Time in milliseconds before which the job may not start. */
  delayMs?: number;
  source: LifecycleSource;
  /** Trace that the job belongs to; by default the current trace. */
  traceparent?: string | null;
}

export const defaultPriority = 5;
export const defaultMaxRuntimeMs = 12 * 3600 * 1000;

/**
 * Inserts a queued job, records the job in its agent's timeline, and enqueues the agent unless the job has a delay. A
 * job without an agent is enqueued itself.
 */
export async function insertJob(tx: Transaction, job: NewJob): Promise<string> {
  const id = newId();
  const { organizationId, workflowId, agentId, targetLabels = null, delayMs = 0, source } = job;
  const context = getRequestContext();
  tx.deferRow(jobRows, [
    id,
    organizationId,
    workflowId,
    job.workflowRevision,
    agentId,
    JSON.stringify(job.variables),
    JSON.stringify(job.vaultKeys ?? []),
    job.priority ?? defaultPriority,
    job.maxRetries ?? 0,
    job.retryDelayMs ?? 0,
    job.retryBackoff ?? 'fixed',
    job.maxRuntimeMs ?? defaultMaxRuntimeMs,
    job.scheduleId ?? null,
    job.batchId ?? null,
    job.batchRow ?? null,
    job.retryOf ?? null,
    job.attempt ?? 1,
    JSON.stringify(job.lineage ?? {}),
    Math.round(delayMs),
    context?.requestId ?? null,
    getCurrentSpanIfSameTrace(job.traceparent ?? null) ?? continueTrace(null),
    job.maxCostMicros ?? null,
    job.bundle?.installationId ?? null,
    job.bundle ? JSON.stringify(job.bundle) : null,
    job.concurrencyKeys?.length ? JSON.stringify(job.concurrencyKeys) : null,
    job.accounts?.length ? JSON.stringify(job.accounts) : null,
    targetLabels && JSON.stringify(targetLabels),
    job.targetPrefer ?? null,
    targetLabels && digestLabels(targetLabels),
    job.retrySameAgent ?? false,
    job.sensitiveResults?.length ? JSON.stringify(job.sensitiveResults) : null,
  ]);
  const message = job.retryOf ? `queued: attempt ${job.attempt}` : 'queued';
  const entry = buildJobEntry({ jobId: id, status: 'queued', previousStatus: null, message, source });
  recordJobEntries(tx, [{ organizationId, agentId, workflowId, jobId: id, entry }]);
  if (delayMs <= 0) {
    await tx.enqueue(
      agentId
        ? { queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } }
        : { queue: 'dispatch', name: 'place-job', payload: { jobId: id } },
    );
  }
  return id;
}

const jobRows: RowStatement = {
  many: {
    name: 'insert_job',
    text: `WITH job AS (INSERT INTO job
       (id, organization_id, workflow_id, workflow_revision, agent_id, variables, vault_keys, priority, max_retries,
        retry_delay_ms, retry_backoff, max_runtime_ms, schedule_id, batch_id, batch_row, retry_of, attempt, lineage,
        not_before, request_id, traceparent, waiting_reason, waiting_since, max_cost_micros, reserved_micros,
        workflow_pack_installation_id, bundle, concurrency_keys, accounts, target_labels, target_prefer, target_group,
        retry_same_agent, sensitive_results)
     SELECT r.id, r.organization_id, r.workflow_id, r.workflow_revision, r.agent_id, r.variables,
            ARRAY(SELECT jsonb_array_elements_text(r.vault_keys)), r.priority, r.max_retries,
            r.retry_delay_ms, r.retry_backoff, r.max_runtime_ms, r.schedule_id, r.batch_id, r.batch_row, r.retry_of,
            r.attempt, r.lineage, muster_now() + r.delay_ms * interval '1 millisecond', r.request_id, r.traceparent,
            CASE WHEN r.delay_ms > 0 THEN 'retry_delay' END, CASE WHEN r.delay_ms > 0 THEN muster_now() END,
            r.max_cost_micros, COALESCE(r.max_cost_micros, 0), r.installation_id, r.bundle, r.concurrency_keys, r.accounts,
            CASE WHEN r.target_labels IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(r.target_labels)) END,
            r.target_prefer, r.target_group, r.retry_same_agent,
            CASE WHEN r.sensitive_results IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(r.sensitive_results)) END
     FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[], $5::uuid[], $6::jsonb[], $7::jsonb[], $8::int[], $9::int[],
       $10::bigint[], $11::text[], $12::bigint[], $13::uuid[], $14::uuid[], $15::int[], $16::uuid[], $17::int[], $18::jsonb[],
       $19::bigint[], $20::text[], $21::text[], $22::bigint[], $23::uuid[], $24::jsonb[], $25::jsonb[], $26::jsonb[],
       $27::jsonb[], $28::text[], $29::uuid[], $30::bool[], $31::jsonb[])
       AS r (id, organization_id, workflow_id, workflow_revision, agent_id, variables, vault_keys, priority, max_retries,
         retry_delay_ms, retry_backoff, max_runtime_ms, schedule_id, batch_id, batch_row, retry_of, attempt, lineage,
         delay_ms, request_id, traceparent, max_cost_micros, installation_id, bundle, concurrency_keys, accounts,
         target_labels, target_prefer, target_group, retry_same_agent, sensitive_results)
     RETURNING id, organization_id, agent_id, priority, queued_at, concurrency_keys, accounts),
     ${insertWaitingKeys},
     ${insertWaitingAccounts}
     INSERT INTO job_log_seen (job_id, organization_id) SELECT id, organization_id FROM job`,
  },
};

export interface JobChange {
  jobId: string;
  status: JobStatus;
  previousStatus: JobStatus | null;
  message: string;
  source: LifecycleSource | 'worker';
  level?: TimelineEntry['level'];
  progress?: Record<string, unknown>;
  data?: Record<string, unknown>;
}

/**
 * Returns the timeline entry that records a change of a job. The event stream derives its job events from these
 * entries.
 */
export function buildJobEntry({
  jobId,
  status,
  previousStatus,
  message,
  source,
  level,
  progress,
  data,
}: JobChange): TimelineEntry {
  return {
    kind: 'job',
    jobId,
    source,
    level,
    message,
    data: { status, previousStatus, progress: progress ?? null, ...data },
  };
}

interface JobEndChange extends Pick<JobChange, 'jobId' | 'previousStatus' | 'source'> {
  status: TerminalJobStatus;
  error?: string | null;
  steps: Omit<ProgressFacts, 'status' | 'currentStep'>;
  /** Reason why the failed job is not retried, although it has retries left. */
  notRetried?: string | null;
}

/** Returns the timeline entry for the end of a job. */
export function buildEndEntry({ error, steps, notRetried, ...change }: JobEndChange): TimelineEntry {
  const { status } = change;
  return buildJobEntry({
    ...change,
    data: notRetried ? { notRetried } : undefined,
    message: error ? `${status}: ${error.slice(0, 500)}` : status,
    level: status === 'failed' ? 'error' : 'info',
    progress: computeJobProgress({ ...steps, status, currentStep: null }),
  });
}
