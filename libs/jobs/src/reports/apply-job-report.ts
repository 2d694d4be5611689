import { acknowledgeRunsSql } from '@muster/commands';
import { recordWorkSql } from '@muster/machines';
import { appendEntriesSql, appendTimeline, encodeEntryParameter } from '@muster/timeline';
import {
  type CallbackReason,
  invalidFieldError,
  isScriptErrorCode,
  type JobLack,
  isTerminalStatus,
  type JobStatus,
  type JobWebhookBody,
  usdToMicros,
} from '@muster/contracts';
import {
  type Database,
  type PlacedJob,
  buildRowStatements,
  type Transaction,
  getViolatedConstraint,
} from '@muster/database';
import type { KeyRing } from '@muster/vault';
import { emitEvent, eventColumns, emitEventPartsSql, getEventValues } from '@muster/webhooks';
import { finishJob } from '../ends/finish-job';
import { buildJobEntry } from '../launch/insert-job';
import { countStepsSql, computeJobProgress } from '../lists/job-progress';
import { answerForDeletedJob } from './deleted-job';
import { lockJobBeforeRead } from '../lists/job-row';
import { type Reporter, requireOwnUploadKey } from './reporter';

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
  keyRing?: KeyRing,
): Promise<ReportAnswer> {
  const { status } = report;
  const answer =
    status !== undefined && isTerminalStatus(status)
      ? await applyReportedEnd(database, reporter, { ...report, status }, keyRing)
      : await applySignOfLife(database, reporter, report);
  return answer ?? answerForDeletedJob(database, reporter, report.jobId);
}

async function applyReportedEnd(
  database: Database,
  { organizationId, agentId }: Reporter,
  report: JobWebhookBody & { status: 'completed' | 'failed' | 'cancelled' },
  keyRing?: KeyRing,
): Promise<ReportAnswer | null> {
  const { jobId, status, error, errorCode, incomplete, result, totalCostUsd, screenshotKey } = report;
  requireOwnUploadKey(organizationId, screenshotKey);
  const { percent } = parseReportedProgress(report);
  const finishReportedJob = async (tx: Transaction) => {
    const ended = await finishJob(tx, {
      organizationId,
      agentId,
      jobId,
      ...(status === 'failed'
        ? { to: status, errorCode: isScriptErrorCode(errorCode) ? errorCode : 'script_failed' }
        : { to: status }),
      source: 'worker',
      error: error ?? (status === 'failed' ? 'the worker gave no reason' : null),
      incomplete,
      result,
      keyRing,
      totalCostUsd,
      screenshotKey,
      percent,
    });
    // If the run has already ended, this report is too late to change its end. The rejected parts that it lists are
    // stored nevertheless.
    if (ended && !ended.applied && incomplete?.length)
      recordIncompleteReport(tx, { organizationId, jobId, incomplete });
    return ended;
  };
  // A failed run may be retried. The retry is reserved under locks of the whole organization, so the report of a
  // failure gets a transaction that it shares with no other report.
  const outcome = await (status === 'failed'
    ? database.transaction({ organizationId }, finishReportedJob)
    : database.sharedTransaction('end', { organizationId }, finishReportedJob, agentId ?? jobId));
  if (!outcome) return null;
  if (outcome.applied) return { accepted: true, status };
  const { previous } = outcome;
  return { accepted: false, reason: isTerminalStatus(previous) ? 'job_over' : 'not_dispatched', status: previous };
}

function recordIncompleteReport(
  tx: Transaction,
  { organizationId, jobId, incomplete }: { organizationId: string; jobId: string; incomplete: JobLack[] },
): void {
  tx.deferStatement(
    `UPDATE job SET incomplete = $3
     WHERE id = $1 AND organization_id = $2 AND status NOT IN ('queued', 'running') AND incomplete = '[]'`,
    [jobId, organizationId, JSON.stringify(incomplete)],
    'record_lacks',
  );
}

interface Sign extends Pick<PlacedJob, 'status' | 'agentId' | 'percent' | 'currentStep'> {
  accepted: boolean;
  began: boolean;
  dispatched: boolean;
  /** Whether the report changed the percentage of the job. */
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
  requireOwnUploadKey(organizationId, screenshotKey);
  const { percent, currentStep } = parseReportedProgress(report);
  const costMicros = typeof totalCostUsd === 'number' ? usdToMicros(totalCostUsd) : null;
  const values = [jobId, organizationId, agentId, seq, percent, currentStep, screenshotKey ?? null];
  try {
    // Most reports are heartbeats or starts without progress. One statement in one round trip applies them.
    if (percent === null && costMicros === null)
      return await applyStatusReport(database, organizationId, { jobId, currentStep, values });
    return await database.transaction({ organizationId }, async (tx) => {
      lockJobBeforeRead(tx, organizationId, jobId);
      const [sign] = await tx.queryRow<Sign>(signWithProgress, [...values, costMicros]);
      if (!sign) return null;
      if (sign.began || sign.isNewPercent) recordSignOfLife(tx, { organizationId, jobId }, sign);
      if (costMicros !== null && sign.hasBudget) {
        await tx.enqueue({ queue: 'dispatch', name: 'check-budget', payload: { jobId } });
      }
      return toReportAnswer(sign);
    });
  } catch (error) {
    if (getViolatedConstraint(error) !== 'job_running_key') throw error;
    return { accepted: false, reason: 'agent_busy', status: 'queued' };
  }
}

async function applyStatusReport(
  database: Database,
  organizationId: string,
  { jobId, currentStep, values }: { jobId: string; currentStep: string | null; values: unknown[] },
): Promise<ReportAnswer | null> {
  const begun = { ...noSteps, status: 'running', percent: null, currentStep } as const;
  const entry = buildJobEntry({
    jobId,
    status: 'running',
    previousStatus: 'queued',
    message: 'running',
    source: 'worker',
    progress: computeJobProgress(begun),
  });
  const event = getEventValues(organizationId);
  const statement = { ...signOfLife, values: [...values, encodeEntryParameter(entry), ...event.values] };
  const [sign] = await database.sharedQuery<Sign & { emitted: boolean }>({ organizationId }, statement, jobId);
  if (!sign) return null;
  if (sign.emitted) database.publish([event.message]);
  if (sign.began) {
    database.notify('timeline', sign.agentId);
    database.notify('job', jobId);
    database.notify('organization', organizationId);
  }
  return toReportAnswer(sign);
}

const noSteps = { stepsTotal: 0, stepsPassed: 0, stepsFailed: 0 };

const signColumns = {
  ...{ job_id: 'uuid', organization_id: 'uuid', agent_id: 'uuid', seq: 'bigint', percent: 'float8' },
  ...{ current_step: 'text', screenshot_key: 'text' },
};

/**
 * SQL for the CTEs that apply heartbeats and starts. A report about a job that was never dispatched is not applied,
 * because such a job cannot run. A worker that starts a job has received the run command, so the start also
 * acknowledges the command.
 */
const recordSignsOfLifeSql = (rows: string, { more = '', begun = '', lock = 'FOR UPDATE' }) => `
  WITH locked_job AS (
    SELECT job.*, input.member FROM ${rows} CROSS JOIN LATERAL (
      SELECT id, status, agent_id, percent, command_id FROM job
      WHERE id = input.job_id AND organization_id = input.organization_id
        AND (input.agent_id IS NULL OR agent_id = input.agent_id) ${lock}) job),
  updated_job AS (
    UPDATE job SET status = 'running', started_at = COALESCE(job.started_at, muster_now()), last_heartbeat_at = muster_now(),
      waiting_reason = NULL, waiting_since = NULL,
      percent = CASE WHEN input.seq >= job.webhook_seq THEN COALESCE(input.percent, job.percent) ELSE job.percent END,
      current_step = CASE WHEN input.seq >= job.webhook_seq THEN COALESCE(input.current_step, job.current_step)
        ELSE job.current_step END,
      last_progress_at = CASE WHEN input.percent IS DISTINCT FROM job.percent AND input.percent IS NOT NULL
        THEN muster_now() ELSE job.last_progress_at END,
      screenshot_key = CASE WHEN input.seq >= job.webhook_seq THEN COALESCE(input.screenshot_key, job.screenshot_key)
        ELSE job.screenshot_key END,
      ${more}webhook_seq = GREATEST(job.webhook_seq, input.seq)
    FROM ${rows} JOIN locked_job ON locked_job.member = input.member
    WHERE job.id = input.job_id AND locked_job.command_id IS NOT NULL AND locked_job.status IN ('queued', 'running')
    RETURNING input.member, job.id, job.percent, job.current_step, job.agent_id, job.max_cost_micros),
  began AS (
    SELECT locked_job.id AS job_id, locked_job.agent_id, locked_job.command_id${begun}
    FROM ${rows} JOIN updated_job ON updated_job.member = input.member JOIN locked_job ON locked_job.member = input.member
    WHERE locked_job.status = 'queued'),
  acknowledged AS (
    ${acknowledgeRunsSql('SELECT command_id FROM began')}),
  alive AS (
    ${recordWorkSql('SELECT agent_id FROM updated_job', 'a job’s sign of life')})`;
const answered = `
  SELECT locked_job.member, locked_job.status, locked_job.command_id IS NOT NULL AS dispatched, locked_job.agent_id,
         updated_job.id IS NOT NULL AS accepted, updated_job.id IS NOT NULL AND locked_job.status = 'queued' AS began,
         updated_job.id IS NOT NULL AND updated_job.percent IS DISTINCT FROM locked_job.percent AS is_new_percent,
         updated_job.percent, updated_job.current_step`;

/**
 * SET clause for the reported cost of a running job. As for the progress, the report with the greater seq wins. The
 * final report always wins.
 */
const reportedCost = `reported_cost_micros = CASE WHEN input.seq >= job.webhook_seq
        THEN COALESCE(input.cost_micros, job.reported_cost_micros) ELSE job.reported_cost_micros END,
      `;

const signWithProgress = buildRowStatements(
  'sign_with_progress',
  { ...signColumns, cost_micros: 'bigint' },
  (rows) => `${recordSignsOfLifeSql(rows, { more: reportedCost })}
  ${answered}, updated_job.max_cost_micros IS NOT NULL AS has_budget, steps.*
  FROM locked_job LEFT JOIN updated_job ON updated_job.member = locked_job.member
  CROSS JOIN LATERAL ${countStepsSql('locked_job.id')} steps`,
);

const started = { type: 'job.started', details: { status: 'running' } } as const;

const begunColumns = { entry: 'jsonb', ...eventColumns };

/**
 * Builds the statement for heartbeats and starts without progress. It reads no other rows that may change while it
 * waits for a job's lock, so it needs no separate lock statement.
 */
const buildSignOfLifeStatement = (name: string, lock: string) =>
  buildRowStatements(
    name,
    { ...signColumns, ...begunColumns },
    (rows) => `${recordSignsOfLifeSql(rows, {
      begun: ['organization_id', ...Object.keys(begunColumns)].map((column) => `, input.${column}`).join(''),
      lock,
    })},
  ${appendEntriesSql('began')},
  ${emitEventPartsSql('began', started)}
  ${answered}, EXISTS (SELECT FROM webhook_event_inserted e WHERE e.id = input.event_id) AS emitted
  FROM ${rows} JOIN locked_job ON locked_job.member = input.member
  LEFT JOIN updated_job ON updated_job.member = input.member`,
  );

const signOfLife = {
  alone: buildSignOfLifeStatement('sign_of_life', 'FOR UPDATE'),
  // Locked jobs are skipped: a job that another transaction has locked must not delay the reports of other jobs.
  together: buildSignOfLifeStatement('signs_of_life', 'FOR UPDATE SKIP LOCKED'),
};

function recordSignOfLife(
  tx: Transaction,
  { organizationId, jobId }: { organizationId: string; jobId: string },
  sign: Sign,
): void {
  const { agentId, began, status: previousStatus } = sign;
  const progress = computeJobProgress({ ...sign, status: 'running' });
  const message = began ? 'running' : `${progress.percent} % done`;
  appendTimeline(tx, { organizationId, agentId }, [
    buildJobEntry({ jobId, status: 'running', previousStatus, message, source: 'worker', progress }),
  ]);
  tx.notify('job', jobId);
  const { type, details } = started;
  if (began) emitEvent(tx, { organizationId, type, subjects: [{ id: jobId, details }] });
}

function toReportAnswer({ status, accepted, dispatched }: Sign): ReportAnswer {
  if (accepted) return { accepted, status: 'running' };
  return { accepted, reason: status === 'queued' && !dispatched ? 'not_dispatched' : 'job_over', status };
}

function parseReportedProgress({ progress }: JobWebhookBody): { percent: number | null; currentStep: string | null } {
  if (progress === undefined || progress === null) return { percent: null, currentStep: null };
  const fields = typeof progress === 'number' ? { percent: progress } : (progress as Record<string, unknown>);
  const { percent = null, currentStep = null } = fields as { percent?: unknown; currentStep?: unknown };
  if (percent !== null && (typeof percent !== 'number' || percent < 0 || percent > 100)) {
    throw invalidFieldError(
      'progress',
      'progress must be a number from 0 to 100, or {percent, currentStep}',
      'progress must be a number from 0 to 100, or {percent, currentStep}.',
    );
  }
  return { percent, currentStep: typeof currentStep === 'string' ? currentStep.slice(0, 500) : null };
}
