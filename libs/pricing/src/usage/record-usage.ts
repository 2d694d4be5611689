import type { TerminalJobStatus } from '@muster/contracts';
import { buildRowStatements, type Transaction, rowsToColumns } from '@muster/database';
import { getBillingMonth } from './billing-gate';

export interface EndedRun {
  jobId: string;
  outcome: TerminalJobStatus;
  startedAt: Date | null;
  finishedAt: Date;
}

/**
 * Inserts the usage events of ended runs. A repeated call inserts nothing. The statement names no columns of the
 * conflict, so that it also works on a table that is partitioned by month, whose key contains the month. The events are added to the month's counter
 * when the cost of the run is booked (`recordSpendUsage`), so that the end of a run does not wait for the counter's
 * lock. Readers of usage add the uncounted events to the counter.
 */
export function recordRunUsage(tx: Transaction, organizationId: string, runs: EndedRun[]): void {
  if (runs.length === 0) return;
  tx.onCommitMeasure(({ runsEnded }) => runs.forEach(({ outcome }) => runsEnded.inc({ outcome })));
  const rows = runs.map((run) => [organizationId, ...getRunUsageColumns(run)]);
  tx.deferRows(runEvents, rows);
}

const runEvents = buildRowStatements(
  'record_run',
  { organization_id: 'uuid', job_id: 'uuid', month: 'date', outcome: 'text', run_ms: 'bigint', at: 'timestamptz' },
  (rows) => `
  INSERT INTO usage_event (organization_id, job_id, kind, month, outcome, run_ms, at, counted)
  SELECT input.organization_id, input.job_id, 'run', input.month, input.outcome, input.run_ms, input.at, false FROM ${rows}
  ON CONFLICT DO NOTHING`,
);

export const manyRuns = 'unnest($2::uuid[], $3::date[], $4::text[], $5::bigint[], $6::timestamptz[])';

/** Returns the parameters of `manyRuns`, from $2 on: an array for each column. */
export function getRunUsageValues(runs: EndedRun[]): unknown[][] {
  const rows = runs.map(getRunUsageColumns);
  return rows[0]!.map((_, column) => rows.map((row) => row[column]));
}

function getRunUsageColumns(run: EndedRun): unknown[] {
  return [run.jobId, getBillingMonth(run.finishedAt), run.outcome, computeRunMs(run), run.finishedAt];
}

/**
 * Records the cost of each run as a usage event, which contains the difference to the spend that was recorded before. A
 * run without a difference gets no event. The same statement adds these events, and the runs' uncounted usage events,
 * to the counters.
 */
export function recordSpendUsage(tx: Transaction, spends: SpendOfRun[]): void {
  if (spends.length === 0) return;
  tx.deferStatement(
    `WITH new_total AS (
       SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::date[], $4::bigint[]) AS n (job_id, organization_id, month, total)),
     spend AS (
       INSERT INTO usage_event (job_id, kind, revision, organization_id, month, spend_micros, counted)
       SELECT n.job_id, 'spend', before.revision + 1, n.organization_id, n.month, n.total - before.spent, true
       FROM new_total n CROSS JOIN LATERAL (
         SELECT COALESCE(sum(spend_micros), 0)::bigint AS spent, COALESCE(max(revision), 0) AS revision
         FROM usage_event WHERE job_id = n.job_id AND kind = 'spend') before
       WHERE n.total <> before.spent
       RETURNING organization_id, month, spend_micros),
     run AS (
       UPDATE usage_event SET counted = true WHERE job_id = ANY($1::uuid[]) AND NOT counted
       RETURNING organization_id, month, outcome, run_ms)
     INSERT INTO usage_counter AS c
       (organization_id, month, runs, completed, failed, cancelled, run_ms, spend_micros)
     SELECT organization_id, month, sum(runs), sum(completed), sum(failed), sum(cancelled), sum(run_ms), sum(spend_micros)
     FROM (
       SELECT organization_id, month, 1 AS runs, (outcome = 'completed')::int AS completed,
              (outcome = 'failed')::int AS failed, (outcome = 'cancelled')::int AS cancelled, run_ms, 0 AS spend_micros
       FROM run
       UNION ALL SELECT organization_id, month, 0, 0, 0, 0, 0, spend_micros FROM spend) parts
     GROUP BY organization_id, month
     -- All transactions lock the counters in this order, because the locks are held until the commit.
     ORDER BY organization_id, month
     ON CONFLICT (organization_id, month) DO UPDATE
     SET runs = c.runs + excluded.runs, completed = c.completed + excluded.completed,
         failed = c.failed + excluded.failed, cancelled = c.cancelled + excluded.cancelled,
         run_ms = c.run_ms + excluded.run_ms, spend_micros = c.spend_micros + excluded.spend_micros`,
    rowsToColumns(
      spends.map(({ jobId, organizationId, totalMicros, finishedAt }) => [
        ...[jobId, organizationId, getBillingMonth(finishedAt), String(totalMicros)],
      ]),
    ),
    'record_spends',
  );
}

/**
 * Returns the duration of a run in milliseconds; 0 if it never started, or if the clock was set back during the run.
 */
export function computeRunMs({ startedAt, finishedAt }: { startedAt: Date | null; finishedAt: Date }): number {
  return startedAt ? Math.max(0, finishedAt.getTime() - startedAt.getTime()) : 0;
}

export interface SpendOfRun {
  jobId: string;
  organizationId: string;
  totalMicros: bigint;
  finishedAt: Date;
}
