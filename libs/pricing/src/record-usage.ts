import type { TerminalJobStatus } from '@muster/contracts';
import type { Transaction } from '@muster/database';
import { monthOf } from './billing-gate';

export interface EndedRun {
  jobId: string;
  organizationId: string;
  outcome: TerminalJobStatus;
  runSeconds: number;
  finishedAt: Date;
}

/** The usage event of a run that has ended, and its counters with it: both or, for a repeat, neither. */
export function recordRun(tx: Transaction, run: EndedRun): void {
  tx.post(
    `WITH event AS (
       INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, run_seconds, at)
       VALUES ($1, 'run', $2, $3, $4, $5, $6)
       ON CONFLICT (job_id, kind, revision) DO NOTHING
       RETURNING organization_id, month, outcome, run_seconds)
     INSERT INTO usage_counter AS c (organization_id, month, runs, completed, failed, cancelled, run_seconds)
     SELECT organization_id, month, 1, (outcome = 'completed')::int, (outcome = 'failed')::int,
            (outcome = 'cancelled')::int, run_seconds
     FROM event
     ON CONFLICT (organization_id, month) DO UPDATE
     SET runs = c.runs + 1, completed = c.completed + excluded.completed, failed = c.failed + excluded.failed,
         cancelled = c.cancelled + excluded.cancelled, run_seconds = c.run_seconds + excluded.run_seconds`,
    [run.jobId, run.organizationId, monthOf(run.finishedAt), run.outcome, run.runSeconds, run.finishedAt],
    'record_run',
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
