import type { TerminalJobStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { monthOf } from './billing-gate';

export interface EndedRun {
  jobId: string;
  outcome: TerminalJobStatus;
  runSeconds: number;
  finishedAt: Date;
}

/** The usage events of runs that have ended, and the counters with them: both or, for a repeat, neither. */
export function recordRuns(tx: Transaction, organizationId: string, runs: EndedRun[]): void {
  if (runs.length === 0) return;
  tx.defer(
    `WITH event AS (
       INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, run_seconds, at)
       SELECT r.job_id, 'run', $1, r.month, r.outcome, r.run_seconds, r.at
       FROM unnest($2::uuid[], $3::date[], $4::text[], $5::float8[], $6::timestamptz[])
         AS r (job_id, month, outcome, run_seconds, at)
       ON CONFLICT (job_id, kind, revision) DO NOTHING
       RETURNING organization_id, month, outcome, run_seconds)
     INSERT INTO usage_counter AS c (organization_id, month, runs, completed, failed, cancelled, run_seconds)
     SELECT organization_id, month, count(*), count(*) FILTER (WHERE outcome = 'completed'),
            count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'cancelled'), sum(run_seconds)
     FROM event GROUP BY organization_id, month
     ON CONFLICT (organization_id, month) DO UPDATE
     SET runs = c.runs + excluded.runs, completed = c.completed + excluded.completed,
         failed = c.failed + excluded.failed, cancelled = c.cancelled + excluded.cancelled,
         run_seconds = c.run_seconds + excluded.run_seconds`,
    [
      organizationId,
      runs.map(({ jobId }) => jobId),
      runs.map(({ finishedAt }) => monthOf(finishedAt)),
      runs.map(({ outcome }) => outcome),
      runs.map(({ runSeconds }) => runSeconds),
      runs.map(({ finishedAt }) => finishedAt),
    ],
    'record_runs',
  );
}

/** What a run has cost, as a correction of what was recorded for it before. Nothing, where that is right already. */
export async function recordSpend(
  tx: Transaction,
  { jobId, organizationId, totalUsd, finishedAt }: SpendOfRun,
): Promise<void> {
  await tx.execute(
    `WITH before AS (
       SELECT COALESCE(sum(spend_usd), 0) AS spent, COALESCE(max(revision), 0) AS revision
       FROM usage_event WHERE job_id = $1 AND kind = 'spend'),
     event AS (
       INSERT INTO usage_event (job_id, kind, revision, organization_id, month, spend_usd)
       SELECT $1, 'spend', before.revision + 1, $2, $3, $4 - before.spent FROM before
       WHERE abs($4 - before.spent) > 1e-9
       RETURNING organization_id, month, spend_usd)
     INSERT INTO usage_counter AS c (organization_id, month, spend_usd)
     SELECT organization_id, month, spend_usd FROM event
     ON CONFLICT (organization_id, month) DO UPDATE SET spend_usd = c.spend_usd + excluded.spend_usd`,
    [jobId, organizationId, monthOf(finishedAt), totalUsd],
    'record_spend',
  );
}

export interface SpendOfRun {
  jobId: string;
  organizationId: string;
  totalUsd: number;
  finishedAt: Date;
}
