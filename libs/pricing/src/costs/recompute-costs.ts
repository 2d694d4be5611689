import { audit, type Principal } from '@muster/access';
import { notFoundError, type RecomputeCostsBody } from '@muster/contracts';
import type { CostRecomputeEntity, Database, RunCostComponentEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { bookModelCallCost } from '../models/book-model-call-cost';
import { requireValidPeriod } from './period';
import type { BookedCost } from './book-run-cost';

export type RecomputeRow = Pick<CostRecomputeEntity, 'id' | 'fromDay' | 'toDay' | 'runs' | 'changed' | 'finishedAt'>;

/**
 * Requests that the runs that ended on these days and the model calls of these days are priced again, with the current
 * prices.
 */
export async function requestCostRecompute(
  tx: Transaction,
  caller: Principal,
  { from, to }: RecomputeCostsBody,
): Promise<RecomputeRow> {
  const { organizationId } = caller;
  requireValidPeriod({ from, to });
  const id = newId();
  tx.deferStatement('INSERT INTO cost_recompute (id, organization_id, from_day, to_day) VALUES ($1, $2, $3, $4)', [
    id,
    organizationId,
    from,
    to,
  ]);
  audit(tx, caller, {
    action: 'model_prices.recompute',
    target: { type: 'organization', id: organizationId },
    changes: { recomputeId: id, from, to },
  });
  await tx.enqueue({ queue: 'metering', name: 'recompute-costs', payload: { recomputeId: id } });
  return { id, fromDay: from, toDay: to, runs: 0, changed: 0, finishedAt: null };
}

export async function findCostRecompute(database: Database, organizationId: string, id: string): Promise<RecomputeRow> {
  const [row] = await database.query<RecomputeRow>(
    { organizationId },
    `SELECT id, from_day::text AS from_day, to_day::text AS to_day, runs, changed, finished_at
     FROM cost_recompute WHERE id = $1 AND organization_id = $2`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('recompute');
  return row;
}

/** Time in ms for which one message works on a recompute before another message is enqueued for the rest. */
const turnMs = 20_000;
const pageSize = 1000;

/** Prices a run again and updates the total on its job. */
type BookCost = (tx: Transaction, jobId: string) => Promise<BookedCost | null>;

/**
 * Continues a recompute after the last run that was priced again. Each run is priced, booked and counted in a separate
 * transaction.
 */
export async function recomputeCosts(database: Database, id: string, bookCost: BookCost): Promise<void> {
  const until = performance.now() + turnMs;
  while (performance.now() < until) {
    const jobIds = await findNextRunsToRecompute(database, id);
    if (jobIds.length === 0) return markRecomputeFinished(database, id);
    for (const jobId of jobIds) {
      if (performance.now() >= until) break;
      await database.transaction('system', (tx) => recomputeCostOfRun(tx, { id, jobId }, bookCost));
    }
  }
  await database.transaction('system', (tx) =>
    tx.enqueue({ queue: 'metering', name: 'recompute-costs', payload: { recomputeId: id } }),
  );
}

async function findNextRunsToRecompute(database: Database, id: string): Promise<string[]> {
  const rows = await database.query<Pick<RunCostComponentEntity, 'jobId'>>(
    'system',
    `SELECT DISTINCT c.job_id
     FROM cost_recompute r
     JOIN organization_settings s ON s.organization_id = r.organization_id
     JOIN run_cost_component c ON c.organization_id = r.organization_id
     WHERE r.id = $1 AND r.finished_at IS NULL AND (r.last_job_id IS NULL OR c.job_id > r.last_job_id)
       -- A day more on both sides for the index; the next condition is exact in the time zone.
       AND c.finished_at >= r.from_day - 1 AND c.finished_at < r.to_day + 2
       AND (c.finished_at AT TIME ZONE s.timezone)::date BETWEEN r.from_day AND r.to_day
     ORDER BY c.job_id LIMIT ${pageSize}`,
    [id],
  );
  return rows.map(({ jobId }) => jobId);
}

async function recomputeCostOfRun(
  tx: Transaction,
  { id, jobId }: { id: string; jobId: string },
  bookCost: BookCost,
): Promise<void> {
  const booked = await bookCost(tx, jobId);
  // The component belongs to a model call and not to a run, so no run has its id.
  if (!booked) await bookModelCallCost(tx, jobId);
  await tx.execute(
    `UPDATE cost_recompute SET last_job_id = $2, runs = runs + $3, changed = changed + $4
     WHERE id = $1 AND (last_job_id IS NULL OR last_job_id < $2)`,
    [id, jobId, booked ? 1 : 0, booked?.changed ? 1 : 0],
    'count_recomputed',
  );
}

async function markRecomputeFinished(database: Database, id: string): Promise<void> {
  await database.query(
    'system',
    'UPDATE cost_recompute SET finished_at = muster_now() WHERE id = $1 AND finished_at IS NULL',
    [id],
  );
}
