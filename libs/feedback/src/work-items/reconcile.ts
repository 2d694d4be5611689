import type { Database } from '@muster/database';
import type { Round } from '@muster/platform';

/** What is over for so long is not asked about any more: a webhook still brings it back. */
const settledDays = 90;
const pageRows = 500;

/** The time of the last comparison, done or under way; null before the first. */
export async function lastReconciliation(database: Database): Promise<Date | null> {
  const [last] = await database.query<{ nominalAt: Date | null }>(
    'system',
    'SELECT max(nominal_at) AS nominal_at FROM feedback_reconciliation',
  );
  return last?.nominalAt ?? null;
}

/** Has every linked work item compared with its trackers, for what no webhook told. Once for each nominal time. */
export async function reconcileFeedback(
  database: Database,
  round: Round,
  { nominalAt, now }: { nominalAt: Date; now: Date },
): Promise<{ armed: number }> {
  const claimed = await database.query(
    'system',
    `INSERT INTO feedback_reconciliation AS r (nominal_at, began_at) VALUES ($1, $2)
     -- Whoever began it and has not finished it for so long is gone.
     ON CONFLICT (nominal_at) DO UPDATE SET began_at = excluded.began_at
     WHERE r.finished_at IS NULL AND r.began_at < excluded.began_at - interval '10 minutes'
     RETURNING nominal_at`,
    [nominalAt, now],
  );
  if (claimed.length === 0) return { armed: 0 };
  let armed = 0;
  for (let after = '00000000-0000-0000-0000-000000000000'; ;) {
    const rows = await database.query<{ submissionId: string }>(
      'system',
      `WITH page AS (
         SELECT l.submission_id FROM feedback_link l JOIN feedback_submission s ON s.id = l.submission_id
         WHERE l.submission_id > $1 AND l.external_id IS NOT NULL AND l.unlinked_at IS NULL
           AND (s.status IN ('received', 'triaged', 'in_progress') OR s.updated_at > $2::timestamptz - $3 * interval '1 day')
         GROUP BY l.submission_id ORDER BY l.submission_id LIMIT ${pageRows})
       UPDATE feedback_work_item w SET armed = w.armed + 1, due_at = LEAST(w.due_at, now())
       FROM page WHERE w.submission_id = page.submission_id RETURNING w.submission_id`,
      [after, now, settledDays],
    );
    armed += rows.length;
    if (rows.length < pageRows) break;
    after = rows
      .map(({ submissionId }) => submissionId)
      .sort()
      .at(-1)!;
    if (!round.hasTime) return { armed };
  }
  await database.query(
    'system',
    'UPDATE feedback_reconciliation SET finished_at = now(), armed = $2 WHERE nominal_at = $1',
    [nominalAt, armed],
  );
  return { armed };
}
