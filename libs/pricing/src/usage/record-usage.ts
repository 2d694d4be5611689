import type { TerminalJobStatus } from '@muster/contracts';
import { type Transaction, transposed } from '@muster/database';
import { monthOf } from './billing-gate';

export interface EndedRun {
  jobId: string;
  outcome: TerminalJobStatus;
  startedAt: Date | null;
  finishedAt: Date;
}

/**
 * The usage events of runs that have ended; for a repeat, none. They join their month's counter when their cost is
 * settled (recordSpend), so that no end waits for another one's disk; whoever reads usage reads both.
 */
export function recordRuns(tx: Transaction, organizationId: string, runs: EndedRun[]): void {
  if (runs.length === 0) return;
  tx.measure(({ runsEnded }) => runs.forEach(({ outcome }) => runsEnded.inc({ outcome })));
  tx.defer(
    `INSERT INTO usage_event (job_id, kind, organization_id, month, outcome, run_ms, at, counted)
     SELECT r.job_id, 'run', $1, r.month, r.outcome, r.run_ms, r.at, false
     FROM ${runs.length === 1 ? oneRun : manyRuns} AS r (job_id, month, outcome, run_ms, at)
     ON CONFLICT (job_id, kind, revision) DO NOTHING`,
    [organizationId, ...(runs.length === 1 ? columnsOf(runs[0]!) : valuesOfRuns(runs))],
    runs.length === 1 ? 'record_run' : 'record_runs',
  );
}

/** Most ends are of one run: a plan that does not depend on how many there are is kept. */
const oneRun = '(VALUES ($2::uuid, $3::date, $4::text, $5::bigint, $6::timestamptz))';
export const manyRuns = 'unnest($2::uuid[], $3::date[], $4::text[], $5::bigint[], $6::timestamptz[])';

/** The parameters from $2 on of `manyRuns`. */
export function valuesOfRuns(runs: EndedRun[]): unknown[][] {
  const rows = runs.map(columnsOf);
  return rows[0]!.map((_, column) => rows.map((row) => row[column]));
}

function columnsOf(run: EndedRun): unknown[] {
  return [run.jobId, monthOf(run.finishedAt), run.outcome, runMsOf(run), run.finishedAt];
}

/**
 * What runs have cost, as corrections of what was recorded for them before; nothing, where that is right already. With it
 * the counters take in what of the runs they have not counted.
 */
export function recordSpends(tx: Transaction, spends: SpendOfRun[]): void {
  if (spends.length === 0) return;
  tx.defer(
    `WITH given AS (
       SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::date[], $4::bigint[]) AS g (job_id, organization_id, month, total)),
     spend AS (
       INSERT INTO usage_event (job_id, kind, revision, organization_id, month, spend_micros, counted)
       SELECT g.job_id, 'spend', before.revision + 1, g.organization_id, g.month, g.total - before.spent, true
       FROM given g CROSS JOIN LATERAL (
         SELECT COALESCE(sum(spend_micros), 0)::bigint AS spent, COALESCE(max(revision), 0) AS revision
         FROM usage_event WHERE job_id = g.job_id AND kind = 'spend') before
       WHERE g.total <> before.spent
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
     -- In one order for everybody, as the counters stay locked until the commit.
     ORDER BY organization_id, month
     ON CONFLICT (organization_id, month) DO UPDATE
     SET runs = c.runs + excluded.runs, completed = c.completed + excluded.completed,
         failed = c.failed + excluded.failed, cancelled = c.cancelled + excluded.cancelled,
         run_ms = c.run_ms + excluded.run_ms, spend_micros = c.spend_micros + excluded.spend_micros`,
    transposed(
      spends.map(({ jobId, organizationId, totalMicros, finishedAt }) => [
        ...[jobId, organizationId, monthOf(finishedAt), String(totalMicros)],
      ]),
    ),
    'record_spends',
  );
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
