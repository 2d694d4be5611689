import type { JobStatus } from '@muster/contracts';

export interface ProgressFacts {
  status: JobStatus;
  /** What the worker says. */
  percent: number | null;
  stepsTotal: number;
  stepsPassed: number;
  stepsFailed: number;
  currentStep: string | null;
}

/**
 * What the worker says, or else the share of its steps that are over. A completed job is done, whatever it said; one that
 * failed came no further than the steps that passed.
 */
export function progressOf({ status, percent, stepsTotal, stepsPassed, stepsFailed, currentStep }: ProgressFacts) {
  const over = stepsTotal === 0 ? 0 : (100 * (stepsPassed + stepsFailed)) / stepsTotal;
  const passed = stepsTotal === 0 ? 100 : (100 * stepsPassed) / stepsTotal;
  const reached = percent ?? over;
  const shown = status === 'failed' ? Math.min(reached, passed) : reached;
  return {
    percent: status === 'completed' ? 100 : Math.round(shown * 10) / 10,
    stepsTotal,
    stepsPassed,
    stepsFailed,
    currentStep: status === 'running' ? currentStep : null,
  };
}

/** The steps of the job that $1 names, counted; or none of them, where nobody asks. */
export function countedSteps(asked = 'true'): string {
  return `(
    SELECT count(*)::int AS steps_total, (count(*) FILTER (WHERE status = 'passed'))::int AS steps_passed,
           (count(*) FILTER (WHERE status = 'failed'))::int AS steps_failed
    FROM job_step WHERE job_id = $1 AND ${asked})`;
}
