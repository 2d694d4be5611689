import type { TerminalJobStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { monthOf } from './billing-gate';

export interface EndedRun {
  jobId: string;
  outcome: TerminalJobStatus;
  startedAt: Date | null;
  finishedAt: Date;
}

/** The usage events of runs that have ended, and the counters with them: both or, for a repeat, neither. */
export function recordRuns(tx: Transaction, organizationId: string, runs: EndedRun[]): void {
  if (runs.length === 0) return;
  tx.defer(
    `WITH event AS (
       INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, run_ms, at)
       SELECT r.job_id, 'run', $1, r.month, r.outcome, r.run_ms, r.at
       FROM unnest($2::uuid[], $3::date[], $4::text[], $5::bigint[], $6::timestamptz[])
         AS r (job_id, month, outcome, run_ms, at)
       ON CONFLICT (job_id, kind, revision) DO NOTHING
       RETURNING organization_id, month, outcome, run_ms)
     INSERT INTO usage_counter AS c (organization_id, month, runs, completed, failed, cancelled, run_ms)
     SELECT organization_id, month, count(*), count(*) FILTER (WHERE outcome = 'completed'),
            count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'cancelled'), sum(run_ms)
     FROM event GROUP BY organization_id, month
     ON CONFLICT (organization_id, month) DO UPDATE
     SET runs = c.runs + excluded.runs, completed = c.completed + excluded.completed,
         failed = c.failed + excluded.failed, cancelled = c.cancelled + excluded.cancelled,
         run_ms = c.run_ms + excluded.run_ms`,
    [
      organizationId,
      runs.map(({ jobId }) => jobId),
      runs.map(({ finishedAt }) => monthOf(finishedAt)),
      runs.map(({ outcome }) => outcome),
      runs.map(runMsOf),
      runs.map(({ finishedAt }) => finishedAt),
    ],
    'record_runs',
  );
}

/** What a run has cost, as a correction of what was recorded for it before. Nothing, where that is right already. */
export async function recordSpend(
  tx: Transaction,
  { jobId, organizationId, totalMicros, finishedAt }: SpendOfRun,
): Promise<boolean> {
  const booked = await tx.execute(
    `WITH before AS (
       SELECT COALESCE(sum(spend_micros), 0)::bigint AS spent, COALESCE(max(revision), 0) AS revision
       FROM usage_event WHERE job_id = $1 AND kind = 'spend'),
     event AS (
       INSERT INTO usage_event (job_id, kind, revision, organization_id, month, spend_micros)
       SELECT $1, 'spend', before.revision + 1, $2, $3, $4::bigint - before.spent FROM before
       WHERE $4::bigint <> before.spent
       RETURNING organization_id, month, spend_micros)
     INSERT INTO usage_counter AS c (organization_id, month, spend_micros)
     SELECT organization_id, month, spend_micros FROM event
     ON CONFLICT (organization_id, month) DO UPDATE SET spend_micros = c.spend_micros + excluded.spend_micros`,
    [jobId, organizationId, monthOf(finishedAt), totalMicros],
    'record_spend',
  );
  return booked > 0;
}

/** How long it ran, as its times are shown; nothing where it never did, or the clock was turned back meanwhile. */
export function runMsOf({ startedAt, finishedAt }: { startedAt: Date | null; finishedAt: Date }): number {
  return startedAt ? Math.max(0, finishedAt.getTime() - startedAt.getTime()) : 0;
}

export interface SpendOfRun {
  jobId: string;
  organizationId: string;
  totalMicros: bigint;
  finishedAt: Date;
}
