import { type JobAsking, notFoundError, type WaitingDetail } from '@muster/contracts';
import { buildRowStatements, type Database, type JobEntity, type Transaction } from '@muster/database';
import { waitingForAccount } from '../accounts/accounts-sql';
import { waitingForKey } from '../dispatch/concurrency-keys';
import { waitingForAgent } from '../placement/fitting-agents';

/** A job with its step counts, as the API returns it. */
export interface JobRow extends Pick<
  JobEntity,
  | 'id'
  | 'organizationId'
  | 'status'
  | 'workflowId'
  | 'workflowRevision'
  | 'agentId'
  | 'targetLabels'
  | 'targetPrefer'
  | 'placedAt'
  | 'placementWhy'
  | 'scheduleId'
  | 'batchId'
  | 'retryOf'
  | 'attempt'
  | 'priority'
  | 'variables'
  | 'maxRetries'
  | 'retryDelayMs'
  | 'maxRuntimeMs'
  | 'maxCostMicros'
  | 'bundle'
  | 'queuedAt'
  | 'startedAt'
  | 'finishedAt'
  | 'waitingReason'
  | 'waitingSince'
  | 'cancelRequestedAt'
  | 'percent'
  | 'currentStep'
  | 'claimsAttempted'
  | 'claimsEobUploaded'
  | 'claimsNoEobFound'
  | 'claimsFailed'
  | 'totalCostMicros'
  | 'error'
  | 'errorCode'
  | 'incomplete'
  | 'result'
  | 'sensitiveResults'
  | 'screenshotKey'
> {
  workflowName: string;
  agentName: string | null;
  /** The value of the first variable of the job's workflow. */
  subject: string | null;
  stalled: boolean;
  stepsTotal: number;
  stepsPassed: number;
  stepsFailed: number;
  stepRunning: string | null;
  /** The oldest open question of the job. */
  asking: JobAsking | null;
  waitedForPersonSeconds: number;
  /** The concurrency key or the pool of accounts that the job waits for, or the agents that fit it. */
  waitingFor: WaitingDetail | null;
}

export interface ListedJob extends JobRow {
  /** The value by which the list is sorted, in the form of a page cursor; empty if the job has no such value. */
  sortValue?: string;
}

/** The columns of a JobRow for a statement with `FROM ${jobSource}`. */
export const jobColumns = `j.id, j.organization_id, j.status, j.workflow_id, j.workflow_revision, j.agent_id,
  j.target_labels, j.target_prefer, j.placed_at, j.placement_why,
  j.schedule_id, j.batch_id, j.retry_of, j.attempt, j.priority, j.variables, j.max_retries, j.retry_delay_ms,
  j.max_runtime_ms, j.max_cost_micros, j.bundle, j.queued_at, j.started_at, j.finished_at, j.waiting_reason, j.waiting_since,
  COALESCE(${waitingForKey}, ${waitingForAccount}, ${waitingForAgent}) AS waiting_for,
  j.cancel_requested_at, j.percent, j.current_step, j.claims_attempted, j.claims_eob_uploaded, j.claims_no_eob_found,
  j.claims_failed, j.total_cost_micros, j.error, j.error_code, j.incomplete, j.result, j.sensitive_results, j.screenshot_key,
  (SELECT w.name FROM workflow w WHERE w.id = j.workflow_id) AS workflow_name,
  (SELECT a.name FROM agent a WHERE a.id = j.agent_id) AS agent_name,
  (SELECT CASE WHEN jsonb_typeof(j.variables -> r.variables[1]) = 'string'
          THEN NULLIF(j.variables ->> r.variables[1], '') END FROM workflow_revision r
   WHERE r.workflow_id = j.workflow_id AND r.revision = j.workflow_revision) AS subject,
  COALESCE(j.status = 'running' AND j.stalled_at > COALESCE(j.last_progress_at, j.started_at), false) AS stalled,
  (SELECT json_build_object('questionId', q.id, 'question', q.question, 'since', q.asked_at, 'expiresAt', q.expires_at)
   FROM question q WHERE q.job_id = j.id AND q.status = 'open' AND j.status IN ('queued', 'running')
   ORDER BY q.expires_at, q.id LIMIT 1) AS asking,
  (SELECT COALESCE(sum(extract(epoch FROM upper(w) - lower(w))), 0)::float8 FROM unnest((
     SELECT range_agg(tstzrange(q.asked_at, GREATEST(q.asked_at, COALESCE(q.ended_at, muster_now()))))
     FROM question q WHERE q.job_id = j.id)) w) AS waited_for_person_seconds,
  s.total AS steps_total, s.passed AS steps_passed, s.failed AS steps_failed, s.running AS step_running`;

const stepsOfJob = `LATERAL (
  SELECT count(*)::int AS total, (count(*) FILTER (WHERE status = 'passed'))::int AS passed,
         (count(*) FILTER (WHERE status = 'failed'))::int AS failed,
         (array_agg(name ORDER BY step_order DESC) FILTER (WHERE status = 'running'))[1] AS running
  FROM job_step WHERE job_id = j.id) s`;

export const jobSource = `job j CROSS JOIN ${stepsOfJob}`;

/** Approximate size in bytes of a listed job. */
export const jobBytesSql = `octet_length(variables::text) + COALESCE(octet_length(result::text), 0)`;

export async function findJob(database: Database, organizationId: string, id: string): Promise<JobRow> {
  const [row] = await database.sharedRead<JobRow>({ organizationId }, jobOfRow, [id, organizationId]);
  if (!row) throw notFoundError('job');
  return row;
}

/** OFFSET 0 makes Postgres look up each job by its id, although it would rather read all jobs of a small table once. */
const jobOfRow = buildRowStatements(
  'find_job',
  { job_id: 'uuid', organization_id: 'uuid' },
  (rows) =>
    `SELECT input.member, ${jobColumns} FROM ${rows} CROSS JOIN LATERAL (
       SELECT * FROM job WHERE id = input.job_id AND organization_id = input.organization_id OFFSET 0) j
     CROSS JOIN ${stepsOfJob}`,
);

/**
 * Locks the job before the next statement, in the same round trip. A statement that waits for a lock still sees the
 * other rows as they were before the wait. So a statement that reads or counts other rows needs a lock statement before
 * it.
 */
export function lockJobBeforeRead(tx: Transaction, organizationId: string, id: string): void {
  tx.deferStatement(lockJob, [id, organizationId], 'lock_job');
}

export const lockJob = 'SELECT id FROM job WHERE id = $1 AND organization_id = $2 FOR UPDATE';

/**
 * Returns the organization and the agent of a job, for a caller that has only a signature and no key. The agent is null
 * for a deleted job. Returns null if the job never existed.
 */
export async function findJobOwner(
  database: Database,
  id: string,
): Promise<{ organizationId: string; agentId: string | null } | null> {
  const [owner] = await database.query<{ organizationId: string; agentId: string | null }>(
    'system',
    `SELECT organization_id, agent_id FROM job WHERE id = $1
     UNION ALL SELECT organization_id, NULL FROM deleted_job WHERE job_id = $1 LIMIT 1`,
    [id],
    'owner_of_job',
  );
  return owner ?? null;
}
