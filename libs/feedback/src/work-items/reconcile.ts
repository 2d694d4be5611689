import type { Database, FeedbackReconciliationEntity, Transaction } from '@muster/database';
import type { Round } from '@muster/platform';

/** Days after which finished submissions are no longer compared with the trackers. A webhook still triggers a sync. */
const finishedDays = 90;
const pageRows = 500;

type Last = Pick<FeedbackReconciliationEntity, 'nominalAt' | 'rungAt'>;

/** Returns the last reconciliation that was started; null before the first. */
export async function readLastReconciliation(database: Database): Promise<Last | null> {
  const [last] = await database.query<Last>(
    'system',
    'SELECT nominal_at, rung_at FROM feedback_reconciliation ORDER BY nominal_at DESC LIMIT 1',
  );
  return last ?? null;
}

/** Starts a reconciliation, once per nominal time, and only after the previous one has requested all its syncs. */
export async function startReconciliation(
  database: Database,
  { nominalAt, now }: { nominalAt: Date; now: Date },
): Promise<void> {
  await database.query(
    'system',
    `INSERT INTO feedback_reconciliation (nominal_at, began_at)
     SELECT $1, $2 WHERE NOT EXISTS (SELECT FROM feedback_reconciliation WHERE rung_at IS NULL)
     ON CONFLICT DO NOTHING`,
    [nominalAt, now],
  );
}

/**
 * Requests a sync of every linked work item, to find changes that no webhook reported. Each page and the cursor after
 * it are written in one transaction. So a process that resumes after a crash requests the remaining syncs, and none
 * twice. A reconciliation is finished when all these syncs are done.
 */
export async function reconcileFeedback(
  database: Database,
  round: Round,
): Promise<{ armed: number; finished: number }> {
  let armed = 0;
  for (;;) {
    const page = await database.transaction('system', enqueueSyncOfPage);
    armed += page.armed;
    if (!page.isMore || !round.hasTime) break;
  }
  const finished = await database.query(
    'system',
    `UPDATE feedback_reconciliation SET finished_at = muster_now()
     WHERE rung_at IS NOT NULL AND finished_at IS NULL
       AND NOT EXISTS (SELECT FROM feedback_work_item WHERE to_compare)
     RETURNING nominal_at`,
  );
  return { armed, finished: finished.length };
}

async function enqueueSyncOfPage(tx: Transaction): Promise<{ armed: number; isMore: boolean }> {
  const [open] = await tx.query<Pick<FeedbackReconciliationEntity, 'nominalAt' | 'afterId' | 'beganAt'>>(
    `SELECT nominal_at, after_id, began_at FROM feedback_reconciliation
     WHERE rung_at IS NULL ORDER BY nominal_at LIMIT 1 FOR UPDATE SKIP LOCKED`,
  );
  if (!open) return { armed: 0, isMore: false };
  const rows = await tx.query<{ submissionId: string }>(
    `WITH page AS (
       SELECT l.submission_id FROM feedback_link l JOIN feedback_submission s ON s.id = l.submission_id
       WHERE ($1::uuid IS NULL OR l.submission_id > $1) AND l.external_id IS NOT NULL AND l.unlinked_at IS NULL
         AND (s.status IN ('received', 'triaged', 'in_progress') OR s.updated_at > $2::timestamptz - $3 * interval '1 day')
       GROUP BY l.submission_id ORDER BY l.submission_id LIMIT ${pageRows})
     UPDATE feedback_work_item w SET armed = w.armed + 1, due_at = LEAST(w.due_at, muster_now()), to_compare = true
     FROM page WHERE w.submission_id = page.submission_id RETURNING w.submission_id`,
    [open.afterId, open.beganAt, finishedDays],
  );
  const isMore = rows.length === pageRows;
  const ids = rows.map(({ submissionId }) => submissionId).sort();
  await tx.execute(
    `UPDATE feedback_reconciliation SET after_id = COALESCE($2, after_id), armed = armed + $3,
       rung_at = CASE WHEN $4 THEN NULL ELSE muster_now() END
     WHERE nominal_at = $1`,
    [open.nominalAt, ids.at(-1) ?? null, rows.length, isMore],
  );
  return { armed: rows.length, isMore };
}
