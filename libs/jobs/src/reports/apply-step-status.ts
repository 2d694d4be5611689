import { recordWorkSql } from '@muster/machines';
import { appendTimeline } from '@muster/timeline';
import {
  type CallbackReason,
  isTerminalStatus,
  usdToMicros,
  type StepStatus,
  type StepStatusBody,
} from '@muster/contracts';
import type { Database, JobEntity, JobStepEntity } from '@muster/database';
import { isTracing } from '@muster/platform';
import { buildJobEntry } from '../launch/insert-job';
import { computeJobProgress } from '../lists/job-progress';
import { answerForDeletedJob } from './deleted-job';
import { lockJobBeforeRead } from '../lists/job-row';
import { recordStepSpan, type StepTrace } from './record-step-span';
import type { Reporter } from './reporter';

const ranks: Record<StepStatus, number> = { pending: 0, running: 1, skipped: 2, passed: 3, failed: 4 };

/**
 * Returns a key by which two reports of a step are compared: the later report has the greater key. The end of a step is
 * later than any other status, then the seq decides, then the rank of the status. The step ends in the same state for
 * any order and number of reports.
 */
function computeStepStateKey({ status, seq = 0 }: { status: StepStatus; seq?: number }): number {
  return (isEndedStepStatus(status) ? 1 : 0) * 2 ** 51 + Math.min(seq, 2 ** 40) * 8 + ranks[status];
}

function isEndedStepStatus(status: StepStatus): boolean {
  return ranks[status] > 1;
}

interface Applied extends Pick<JobEntity, 'percent'>, StepTrace {
  jobStatus: JobEntity['status'];
  previousStatus: JobStepEntity['status'] | null;
  changed: boolean;
  hasBudget: boolean;
  stepsTotal: number;
  stepsPassed: number;
  stepsFailed: number;
}

/**
 * Applies a report about one step. A report after the job's end is stored too, and the response states that the job has
 * ended.
 */
export async function applyStepStatus(
  database: Database,
  { organizationId, agentId }: Reporter & { agentId: string },
  report: StepStatusBody,
): Promise<{ accepted: boolean; reason?: CallbackReason }> {
  const { jobId, stepOrder, status, seq, usage, metadata, name } = report;
  const key = computeStepStateKey(report);
  const applied = await database.transaction({ organizationId }, async (tx) => {
    lockJobBeforeRead(tx, organizationId, jobId);
    const [row] = await tx.query<Applied>(
      applyStep,
      [
        jobId,
        organizationId,
        agentId,
        stepOrder,
        report.stepId ?? null,
        name ?? null,
        status,
        key,
        report.startedAt ?? null,
        report.finishedAt ?? null,
        report.error ?? null,
        metadata ? JSON.stringify(metadata) : null,
        seq ?? 0,
        usage?.provider ?? null,
        usage?.model ?? null,
        usage?.inputTokens ?? 0,
        usage?.outputTokens ?? 0,
        typeof usage?.costUsd === 'number' ? usdToMicros(usage.costUsd) : null,
        isTracing(),
      ],
      'apply_step',
    );
    if (!row) return null;
    // A late report with usage changes the cost of an ended job, so the cost is booked again. A late time of a step
    // does too, because the day of the step decides the price of its usage.
    if (isTerminalStatus(row.jobStatus) && (usage || report.startedAt || report.finishedAt)) {
      await tx.enqueue({ queue: 'metering', name: 'job-finished', payload: { jobId } });
    }
    if (usage && row.hasBudget) await tx.enqueue({ queue: 'dispatch', name: 'check-budget', payload: { jobId } });
    if (row.changed && row.previousStatus !== status) {
      const label = name ?? report.stepId ?? `step ${stepOrder}`;
      appendTimeline(tx, { organizationId, agentId }, [
        buildJobEntry({
          jobId,
          status: row.jobStatus,
          previousStatus: row.jobStatus,
          source: 'worker',
          level: status === 'failed' ? 'warn' : 'info',
          message: `${label}: ${status}`,
          progress: computeJobProgress({
            ...row,
            status: row.jobStatus,
            currentStep: status === 'running' ? label : null,
          }),
          data: { step: { stepOrder, stepId: report.stepId ?? null, name: name ?? null, status } },
        }),
      ]);
      const ends = isEndedStepStatus(status) && !(row.previousStatus && isEndedStepStatus(row.previousStatus));
      if (ends) tx.onCommit(() => recordStepSpan({ organizationId, agentId }, report, row));
    }
    return row;
  });
  if (!applied) return answerForDeletedJob(database, { organizationId, agentId }, jobId);
  if (isTerminalStatus(applied.jobStatus)) return { accepted: false, reason: 'job_over' };
  return applied.changed ? { accepted: true } : { accepted: false, reason: 'not_newer' };
}

const applyStep = `
  WITH j AS (
    SELECT id, status, percent, status = 'running' AND max_cost_micros IS NOT NULL AS has_budget, command_id, traceparent,
           CASE WHEN $19::boolean THEN variables END AS variables
    FROM job WHERE id = $1 AND organization_id = $2 AND agent_id = $3),
  old AS (
    SELECT s.* FROM job_step s JOIN j ON j.id = s.job_id WHERE s.step_order = $4),
  step AS (
    INSERT INTO job_step AS s
      (job_id, step_order, organization_id, step_id, name, status, state_key, started_at, finished_at, error,
       metadata, metadata_key)
    SELECT j.id, $4, $2, $5::text, $6::text, $7::text, $8::bigint, $9, $10, $11, $12::jsonb, CASE WHEN $12::jsonb IS NULL THEN -1 ELSE $8::bigint END FROM j
    ON CONFLICT (job_id, step_order) DO UPDATE SET
      status = CASE WHEN $8::bigint > s.state_key THEN excluded.status ELSE s.status END,
      error = CASE WHEN ($8::bigint, COALESCE(excluded.error, '')) > (s.state_key, COALESCE(s.error, ''))
        THEN excluded.error ELSE s.error END,
      state_key = GREATEST(s.state_key, $8::bigint),
      -- These fields are the same in all reports of the step. If they differ, the result must not depend on the order.
      step_id = GREATEST(s.step_id, excluded.step_id),
      name = GREATEST(s.name, excluded.name),
      started_at = LEAST(s.started_at, excluded.started_at),
      finished_at = GREATEST(s.finished_at, excluded.finished_at),
      metadata = CASE WHEN (excluded.metadata_key, excluded.metadata::text) > (s.metadata_key, COALESCE(s.metadata::text, ''))
        THEN excluded.metadata ELSE s.metadata END,
      metadata_key = GREATEST(s.metadata_key, excluded.metadata_key)
    RETURNING s.*),
  spent AS (
    INSERT INTO ai_usage AS u
      (job_id, step_order, seq, organization_id, provider, model, input_tokens, output_tokens, cost_micros)
    SELECT j.id, $4, $13, $2, $14::text, $15, $16, $17, $18 FROM j WHERE $14::text IS NOT NULL
    ON CONFLICT (job_id, step_order, seq) DO UPDATE SET
      provider = excluded.provider, model = excluded.model, input_tokens = excluded.input_tokens,
      output_tokens = excluded.output_tokens, cost_micros = excluded.cost_micros
    -- If two reports of the same usage differ, the greater one wins in any order.
    WHERE (COALESCE(excluded.cost_micros, -1), excluded.input_tokens, excluded.output_tokens, excluded.provider, excluded.model)
      > (COALESCE(u.cost_micros, -1), u.input_tokens, u.output_tokens, u.provider, u.model)
    RETURNING u.job_id),
  touched AS (
    UPDATE job SET last_heartbeat_at = muster_now(), last_progress_at = muster_now(),
      current_step = CASE WHEN $7::text = 'running' THEN COALESCE($6::text, $5::text, job.current_step) ELSE job.current_step END
    FROM j, step WHERE job.id = j.id AND j.status = 'running'
    RETURNING job.agent_id),
  alive AS (
    ${recordWorkSql('SELECT agent_id FROM touched', 'a job’s step')}),
  others AS (
    SELECT s.status FROM job_step s WHERE s.job_id = $1 AND s.step_order <> $4),
  counted AS (
    SELECT count(*)::int AS steps_total, (count(*) FILTER (WHERE status = 'passed'))::int AS steps_passed,
           (count(*) FILTER (WHERE status = 'failed'))::int AS steps_failed
    FROM (SELECT status FROM others UNION ALL SELECT status FROM step) every)
  SELECT j.status AS job_status, j.percent, j.has_budget, j.command_id, j.traceparent, j.variables, old.status AS previous_status, counted.*,
         old.job_id IS NULL OR $8::bigint > old.state_key OR EXISTS (SELECT FROM spent) AS changed
  FROM j CROSS JOIN counted LEFT JOIN old ON true`;
