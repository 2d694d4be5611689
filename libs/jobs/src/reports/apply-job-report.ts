import { acknowledgeRunSql } from '@muster/commands';
import { recordWorkSql } from '@muster/machines';
import { appendEntrySql, appendTimeline, entryParameter } from '@muster/timeline';
import {
  type CallbackReason,
  invalidField,
  isErrorWord,
  type JobLack,
  isTerminal,
  type JobStatus,
  type JobWebhookBody,
  microsOf,
} from '@muster/contracts';
import { type Database, type JobEntity, type Transaction, violatedConstraint } from '@muster/database';
import { emitEvent, eventPartsSql, valuesOfEvent } from '@muster/webhooks';
import { finishJob } from '../ends/finish-job';
import { jobEntry } from '../launch/insert-job';
import { countedStepsSql, progressOf } from '../lists/job-progress';
import { overOrUnknown } from './deleted-job';
import { lockJobFirst } from '../lists/job-row';
import { type Reporter, requireOwnKey } from './reporter';

export interface ReportAnswer {
  accepted: boolean;
  reason?: CallbackReason;
  /** The job's status after the report; absent for a deleted job. */
  status?: JobStatus;
}

/**
 * Applies a worker's report about a job: a heartbeat, the start or the end. Late and repeated reports change nothing.
 */
export async function applyJobReport(
  database: Database,
  reporter: Reporter,
  report: JobWebhookBody,
): Promise<ReportAnswer> {
  const { status } = report;
  const answer =
    status !== undefined && isTerminal(status)
      ? await applyEnd(database, reporter, { ...report, status })
      : await applySignOfLife(database, reporter, report);
  return answer ?? overOrUnknown(database, reporter, report.jobId);
}

async function applyEnd(
  database: Database,
  { organizationId, agentId }: Reporter,
  report: JobWebhookBody & { status: 'completed' | 'failed' | 'cancelled' },
): Promise<ReportAnswer | null> {
  const { jobId, status, error, errorCode, incomplete, result, totalCostUsd, screenshotKey } = report;
  requireOwnKey(organizationId, screenshotKey);
  const { percent } = reportedFields(report);
  const work = async (tx: Transaction) => {
    const ended = await finishJob(tx, {
      organizationId,
      agentId,
      jobId,
      ...(status === 'failed'
        ? { to: status, errorCode: isErrorWord(errorCode) ? errorCode : 'script_failed' }
        : { to: status }),
      source: 'worker',
      error: error ?? (status === 'failed' ? 'the worker gave no reason' : null),
      incomplete,
      result,
      totalCostUsd,
      screenshotKey,
      percent,
    });
    // If the run has already ended, this report is too late to change its end. The rejected parts that it lists are
    // stored nevertheless.
    if (ended && !ended.applied && incomplete?.length) recordIncomplete(tx, { organizationId, jobId, incomplete });
    return ended;
  };
  // A failed run may be retried, and the retry is reserved under locks of the whole organization.
  const outcome = await (status === 'failed'
    ? database.transaction({ organizationId }, work)
    : database.sharedTransaction('end', { organizationId }, work, agentId ?? jobId));
  if (!outcome) return null;
  if (outcome.applied) return { accepted: true, status };
  const { previous } = outcome;
  return { accepted: false, reason: isTerminal(previous) ? 'job_over' : 'not_dispatched', status: previous };
}

function recordIncomplete(
  tx: Transaction,
  { organizationId, jobId, incomplete }: { organizationId: string; jobId: string; incomplete: JobLack[] },
): void {
  tx.defer(
    `UPDATE job SET incomplete = $3
     WHERE id = $1 AND organization_id = $2 AND status NOT IN ('queued', 'running') AND incomplete = '[]'`,
    [jobId, organizationId, JSON.stringify(incomplete)],
    'record_lacks',
  );
}

interface Sign extends Pick<JobEntity, 'status' | 'agentId' | 'percent' | 'currentStep'> {
  accepted: boolean;
  began: boolean;
  dispatched: boolean;
  /** Whether the report changed the percentage. */
  isNewPercent: boolean;
  hasBudget: boolean;
  stepsTotal: number;
  stepsPassed: number;
  stepsFailed: number;
}

async function applySignOfLife(
  database: Database,
  { organizationId, agentId }: Reporter,
  report: JobWebhookBody,
): Promise<ReportAnswer | null> {
  const { jobId, seq = -1, screenshotKey, totalCostUsd } = report;
  requireOwnKey(organizationId, screenshotKey);
  const { percent, currentStep } = reportedFields(report);
  const costMicros = typeof totalCostUsd === 'number' ? microsOf(totalCostUsd) : null;
  const values = [jobId, organizationId, agentId, seq, percent, currentStep, screenshotKey ?? null];
  try {
    // Most reports are heartbeats or starts without progress. One statement in one round trip applies them.
    if (percent === null && costMicros === null)
      return await applyWithoutProgress(database, organizationId, { jobId, currentStep, values });
    return await database.transaction({ organizationId }, async (tx) => {
      lockJobFirst(tx, organizationId, jobId);
      const [sign] = await tx.query<Sign>(signWithProgress, [...values, costMicros], 'sign_with_progress');
      if (!sign) return null;
      if (sign.began || sign.isNewPercent) recordSignOfLife(tx, { organizationId, jobId }, sign);
      if (costMicros !== null && sign.hasBudget) {
        await tx.enqueue({ queue: 'dispatch', name: 'check-budget', payload: { jobId } });
      }
      return toAnswer(sign);
    });
  } catch (error) {
    if (violatedConstraint(error) !== 'job_running_key') throw error;
    return { accepted: false, reason: 'agent_busy', status: 'queued' };
  }
}

async function applyWithoutProgress(
  database: Database,
  organizationId: string,
  { jobId, currentStep, values }: { jobId: string; currentStep: string | null; values: unknown[] },
): Promise<ReportAnswer | null> {
  const begun = { ...noSteps, status: 'running', percent: null, currentStep } as const;
  const entry = jobEntry({
    jobId,
    status: 'running',
    previousStatus: 'queued',
    message: 'running',
    source: 'worker',
    progress: progressOf(begun),
  });
  const event = valuesOfEvent(organizationId);
  const statement = { ...signOfLifeAlone, values: [...values, entryParameter(entry), ...event.values] };
  const [sign] = await database.sharedQuery<Sign & { emitted: boolean }>({ organizationId }, statement, {
    key: jobId,
    together: signOfLifeTogether,
  });
  if (!sign) return null;
  if (sign.emitted) database.publish([event.message]);
  if (sign.began) {
    database.notify('timeline', sign.agentId);
    database.notify('job', jobId);
    database.notify('organization', organizationId);
  }
  return toAnswer(sign);
}

const noSteps = { stepsTotal: 0, stepsPassed: 0, stepsFailed: 0 };

/**
 * SQL that applies a heartbeat or a start, and returns the reason if it does not; a job that was never dispatched
 * cannot run. A worker that starts a job has received the run command, so the start also acknowledges the command.
 */
const applySignSql = (more = '', lock = 'FOR UPDATE') => `
  WITH locked_job AS (
    SELECT id, status, agent_id, percent, command_id IS NOT NULL AS dispatched FROM job
    WHERE id = $1 AND organization_id = $2 AND ($3::uuid IS NULL OR agent_id = $3) ${lock}),
  updated_job AS (
    UPDATE job SET status = 'running', started_at = COALESCE(job.started_at, muster_now()), last_heartbeat_at = muster_now(),
      waiting_reason = NULL, waiting_since = NULL,
      percent = CASE WHEN $4 >= job.webhook_seq THEN COALESCE($5, job.percent) ELSE job.percent END,
      current_step = CASE WHEN $4 >= job.webhook_seq THEN COALESCE($6, job.current_step) ELSE job.current_step END,
      last_progress_at = CASE WHEN $5 IS DISTINCT FROM job.percent AND $5 IS NOT NULL THEN muster_now()
        ELSE job.last_progress_at END,
      screenshot_key = CASE WHEN $4 >= job.webhook_seq THEN COALESCE($7, job.screenshot_key) ELSE job.screenshot_key END,
      ${more}webhook_seq = GREATEST(job.webhook_seq, $4)
    FROM locked_job WHERE job.id = $1 AND locked_job.dispatched AND locked_job.status IN ('queued', 'running')
    RETURNING job.id, job.percent, job.current_step, job.agent_id, job.max_cost_micros),
  began AS (
    SELECT updated_job.id, updated_job.agent_id FROM updated_job JOIN locked_job ON locked_job.id = updated_job.id
    WHERE locked_job.status = 'queued'),
  acknowledged AS (
    ${acknowledgeRunSql({ begun: 'began', jobId: '$1' })}),
  alive AS (
    ${recordWorkSql('SELECT agent_id FROM updated_job', 'a job’s sign of life')})`;
const answered = `
  SELECT locked_job.status, locked_job.dispatched, locked_job.agent_id, updated_job.id IS NOT NULL AS accepted,
         updated_job.id IS NOT NULL AND locked_job.status = 'queued' AS began,
         updated_job.id IS NOT NULL AND updated_job.percent IS DISTINCT FROM locked_job.percent AS is_new_percent, updated_job.percent, updated_job.current_step`;

/**
 * SET clause for the reported cost of a running job. As for the progress, the report with the greater seq wins. The
 * final report always wins.
 */
const reportedCost = `reported_cost_micros = CASE WHEN $4 >= job.webhook_seq
        THEN COALESCE($8::bigint, job.reported_cost_micros) ELSE job.reported_cost_micros END,
      `;

const signWithProgress = `${applySignSql(reportedCost)} ${answered}, updated_job.max_cost_micros IS NOT NULL AS has_budget, steps.*
  FROM locked_job LEFT JOIN updated_job ON updated_job.id = locked_job.id CROSS JOIN ${countedStepsSql()} steps`;

const started = { type: 'job.started', details: { status: 'running' } } as const;

/**
 * Builds the statement for a heartbeat or a start without progress. It reads no other rows that may change while it
 * waits for the job's lock, so it needs no separate lock statement.
 */
const signOfLifeSql = (lock?: string) => `${applySignSql('', lock)},
  ${appendEntrySql({ agent: 'began', jobId: '$1', organizationId: '$2', entry: '$8' })},
  ${eventPartsSql({ source: 'began', subject: 'began.id', organization: '$2', ...started, offset: 8 })}
  ${answered}, EXISTS (SELECT FROM webhook_event_inserted) AS emitted
  FROM locked_job LEFT JOIN updated_job ON updated_job.id = locked_job.id`;

const signOfLifeAlone = { name: 'sign_of_life', text: signOfLifeSql() };
/**
 * For a transaction that several reports share: a job that another transaction has locked must not delay the reports of
 * other jobs.
 */
const signOfLifeTogether = { name: 'signs_of_life', text: signOfLifeSql('FOR UPDATE SKIP LOCKED') };

function recordSignOfLife(
  tx: Transaction,
  { organizationId, jobId }: { organizationId: string; jobId: string },
  sign: Sign,
): void {
  const { agentId, began, status: previousStatus } = sign;
  const progress = progressOf({ ...sign, status: 'running' });
  const message = began ? 'running' : `${progress.percent} % done`;
  appendTimeline(tx, { organizationId, agentId }, [
    jobEntry({ jobId, status: 'running', previousStatus, message, source: 'worker', progress }),
  ]);
  tx.notify('job', jobId);
  const { type, details } = started;
  if (began) emitEvent(tx, { organizationId, type, subjects: [{ id: jobId, details }] });
}

function toAnswer({ status, accepted, dispatched }: Sign): ReportAnswer {
  if (accepted) return { accepted, status: 'running' };
  return { accepted, reason: status === 'queued' && !dispatched ? 'not_dispatched' : 'job_over', status };
}

function reportedFields({ progress }: JobWebhookBody): { percent: number | null; currentStep: string | null } {
  if (progress === undefined || progress === null) return { percent: null, currentStep: null };
  const fields = typeof progress === 'number' ? { percent: progress } : (progress as Record<string, unknown>);
  const { percent = null, currentStep = null } = fields as { percent?: unknown; currentStep?: unknown };
  if (percent !== null && (typeof percent !== 'number' || percent < 0 || percent > 100)) {
    throw invalidField(
      'progress',
      'progress must be a number from 0 to 100, or {percent, currentStep}',
      'progress must be a number from 0 to 100, or {percent, currentStep}.',
    );
  }
  return { percent, currentStep: typeof currentStep === 'string' ? currentStep.slice(0, 500) : null };
}
