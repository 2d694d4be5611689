import { bookJobCost } from '@muster/jobs';
import { type Harness, makeJob } from '@muster/testing';

export interface Used {
  provider?: string;
  model: string;
  input?: number;
  output?: number;
  /** Cost of this model usage that the worker reported, in micro-dollars. */
  reportedMicros?: number | null;
  /** Time of the step that used the model; the end of the run if absent. */
  at?: string;
}

export interface EndedRun {
  organizationId: string;
  finishedAt: string;
  /** Runtime in milliseconds; null if the run never started. */
  ms?: number | null;
  used?: Used[];
  /** Cost of the whole run that the worker reported, in micro-dollars. */
  reportedMicros?: number;
  agentId?: string;
  workflowId?: string;
  scheduleId?: string;
}

/** Inserts an ended run in the state in which ingest and metering leave it. */
export async function endRun(
  db: Harness['db'],
  run: EndedRun,
): Promise<{ id: string; agentId: string; workflowId: string }> {
  const { organizationId, ms = 0, used = [], reportedMicros, finishedAt, ...references } = run;
  const end = new Date(finishedAt);
  const job = await makeJob(db, {
    ...references,
    organizationId,
    status: 'completed',
    startedAt: ms === null ? null : new Date(end.getTime() - ms),
    finishedAt: end,
    reportedCostMicros: reportedMicros ?? null,
  });
  await insertUsage(db, { jobId: job.id, organizationId, finishedAt }, used);
  await bookCost(db, job.id);
  return job;
}

/** Inserts the model usage of a run, with one step for each entry. */
export async function insertUsage(
  db: Harness['db'],
  { jobId, organizationId, finishedAt }: { jobId: string; organizationId: string; finishedAt: string },
  used: Used[],
  firstStep = 1,
): Promise<void> {
  for (const [at, usage] of used.entries()) {
    const step = firstStep + at;
    await db.query(
      'system',
      `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key, finished_at)
       VALUES ($1, $2, $3, 'passed', 1, $4)`,
      [jobId, step, organizationId, usage.at ?? finishedAt],
    );
    await db.query(
      'system',
      `INSERT INTO ai_usage (job_id, step_order, seq, organization_id, provider, model, input_tokens, output_tokens, cost_micros)
       VALUES ($1, $2, 0, $3, $4, $5, $6, $7, $8)`,
      [
        jobId,
        step,
        organizationId,
        usage.provider ?? 'acme',
        usage.model,
        usage.input ?? 0,
        usage.output ?? 0,
        usage.reportedMicros ?? null,
      ],
    );
  }
}

export function bookCost(db: Harness['db'], jobId: string) {
  return db.transaction('system', (tx) => bookJobCost(tx, jobId));
}
