import { settleJobCost } from '@muster/jobs';
import { type Harness, makeJob } from '@muster/testing';

export interface Used {
  provider?: string;
  model: string;
  input?: number;
  output?: number;
  /** What its worker said that it cost, in micro-dollars. */
  said?: number | null;
  /** The moment of its step; when the run ended unless given. */
  at?: string;
}

export interface EndedRun {
  organizationId: string;
  finishedAt: string;
  /** How long it ran; null for one that never started. */
  ms?: number | null;
  used?: Used[];
  /** What its worker said that all of it cost, in micro-dollars. */
  said?: number;
  agentId?: string;
  workflowId?: string;
  scheduleId?: string;
}

/** A run that ended, as the ingest and the metering leave it. */
export async function endRun(
  db: Harness['db'],
  run: EndedRun,
): Promise<{ id: string; agentId: string; workflowId: string }> {
  const { organizationId, ms = 0, used = [], said, finishedAt, ...of } = run;
  const end = new Date(finishedAt);
  const job = await makeJob(db, {
    ...of,
    organizationId,
    status: 'completed',
    startedAt: ms === null ? null : new Date(end.getTime() - ms),
    finishedAt: end,
    reportedCostMicros: said ?? null,
  });
  await report(db, { jobId: job.id, organizationId, finishedAt }, used);
  await settle(db, job.id);
  return job;
}

/** What a run used, each with a step of its own. */
export async function report(
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
        usage.said ?? null,
      ],
    );
  }
}

export function settle(db: Harness['db'], jobId: string) {
  return db.transaction('system', (tx) => settleJobCost(tx, jobId));
}
