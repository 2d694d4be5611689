import type { TrackerName } from '@muster/contracts';
import type { Database, FeedbackWorkItemEntity } from '@muster/database';
import { type Round, sweepRows, type SweepCounts } from '@muster/platform';
import { syncWorkItem, type SyncParts } from './sync-work-item';

type Due = Pick<FeedbackWorkItemEntity, 'submissionId' | 'dueAt'>;

/** Syncs all due work items, oldest due time first. */
export function sweepWorkItems(parts: SyncParts, round: Round): Promise<SweepCounts<'synced' | 'waiting'>> {
  return sweepRows<Due, 'synced' | 'waiting'>(round, {
    name: 'work items',
    outcomes: ['synced', 'waiting'],
    atOnce: 4,
    candidates: (after, limit) =>
      parts.database.query<Due>(
        'system',
        `SELECT submission_id, due_at FROM feedback_work_item
         WHERE due_at <= muster_now() AND (leased_until IS NULL OR leased_until < muster_now())
           AND ($1::timestamptz IS NULL OR (date_trunc('milliseconds', due_at), submission_id) > ($1, $2::uuid))
         ORDER BY date_trunc('milliseconds', due_at), submission_id LIMIT $3`,
        [after?.dueAt ?? null, after?.submissionId ?? null, limit],
      ),
    settle: ({ submissionId }) => syncWorkItem(parts, submissionId),
    rowOf: ({ submissionId }) => `feedback submission ${submissionId}`,
  });
}

/** Requests a sync of items that have no link yet because their trackers were not configured. */
export async function scheduleUnsentSubmissions(database: Database, trackers: TrackerName[]): Promise<void> {
  await database.query(
    'system',
    `UPDATE feedback_work_item w SET armed = armed + 1, due_at = muster_now()
     WHERE due_at IS NULL AND EXISTS (
       SELECT FROM feedback_link l WHERE l.submission_id = w.submission_id AND l.tracker = ANY($1)
         AND l.external_id IS NULL AND l.unlinked_at IS NULL AND l.dead_at IS NULL)`,
    [trackers],
  );
}
