import type { JobStatus } from '@muster/contracts';

export interface ProgressFacts {
  status: JobStatus;
  /** Percentage that the worker reported; null if it reported none. */
  percent: number | null;
  stepsTotal: number;
  stepsPassed: number;
  stepsFailed: number;
  currentStep: string | null;
}

/**
 * Returns the percentage that the worker reported, or else the share of ended steps. A completed job has 100 %. A
 * failed job has at most the share of passed steps.
 */
export function computeJobProgress({
  status,
  percent,
  stepsTotal,
  stepsPassed,
  stepsFailed,
  currentStep,
}: ProgressFacts) {
  const over = stepsTotal === 0 ? 0 : (100 * (stepsPassed + stepsFailed)) / stepsTotal;
  const passed = stepsTotal === 0 ? 100 : (100 * stepsPassed) / stepsTotal;
  const reached = percent ?? over;
  const limited = status === 'failed' ? Math.min(reached, passed) : reached;
  return {
    percent: status === 'completed' ? 100 : Math.round(limited * 10) / 10,
    stepsTotal,
    stepsPassed,
    stepsFailed,
    currentStep: status === 'running' ? currentStep : null,
  };
}

/** SQL: counts the steps of a job. `jobId` is SQL; a column of another table needs LATERAL before this subquery. */
export function countStepsSql(jobId: string): string {
  return `(
    SELECT count(*)::int AS steps_total, (count(*) FILTER (WHERE status = 'passed'))::int AS steps_passed,
           (count(*) FILTER (WHERE status = 'failed'))::int AS steps_failed
    FROM job_step WHERE job_id = ${jobId})`;
}
