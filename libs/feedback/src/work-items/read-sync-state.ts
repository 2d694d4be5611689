import type { TrackerName } from '@muster/contracts';
import type { Database, FeedbackLinkEntity, FeedbackTrackerEntity, Transaction } from '@muster/database';
import { scheduleWorkItemSync } from './schedule-work-item-sync';

type DeadLink = Pick<FeedbackLinkEntity, 'id' | 'submissionId' | 'tracker' | 'attempts' | 'error'> & { deadAt: Date };

export interface SyncState {
  stops: (Pick<FeedbackTrackerEntity, 'tracker' | 'reason'> & { stoppedAt: Date })[];
  pending: number;
  dead: DeadLink[];
  lastReconciledAt: Date | null;
}

/**
 * Maximum number of links to work items that are listed as dead, oldest first. The sync of a dead link has failed
 * permanently.
 */
const maxDead = 200;

/** Reads the pending work items of configured trackers, the dead links, and the stopped trackers with their reasons. */
export function readSyncState(database: Database, configured: TrackerName[]): Promise<SyncState> {
  return database.transaction('system', async (tx) => {
    const stops = await tx.query<SyncState['stops'][number]>(
      'SELECT tracker, stopped_at, reason FROM feedback_tracker WHERE stopped_at IS NOT NULL',
    );
    const [waiting] = await tx.query<{ pending: number }>(
      `SELECT count(*)::int AS pending FROM feedback_work_item w
       WHERE due_at IS NOT NULL AND EXISTS (
         SELECT FROM feedback_link l WHERE l.submission_id = w.submission_id AND l.tracker = ANY($1)
           AND l.unlinked_at IS NULL AND l.dead_at IS NULL)`,
      [configured],
    );
    const dead = await tx.query<DeadLink>(
      `SELECT id, submission_id, tracker, attempts, error, dead_at FROM feedback_link
       WHERE dead_at IS NOT NULL ORDER BY dead_at, id LIMIT ${maxDead}`,
    );
    const [last] = await tx.query<{ finishedAt: Date | null }>(
      'SELECT max(finished_at) AS finished_at FROM feedback_reconciliation',
    );
    return { stops, pending: waiting!.pending, dead, lastReconciledAt: last?.finishedAt ?? null };
  });
}

/** Retries a dead link at once with all its attempts. Null if there is no such dead link. */
export async function replayFailedSync(tx: Transaction, id: string): Promise<{ submissionId: string } | null> {
  const [link] = await tx.query<{ submissionId: string }>(
    `UPDATE feedback_link SET dead_at = NULL, attempts = 0, error = NULL, failing_since = NULL, next_try_at = NULL
     WHERE id = $1 AND dead_at IS NOT NULL RETURNING submission_id`,
    [id],
  );
  if (!link) return null;
  await scheduleWorkItemSync(tx, link.submissionId);
  return link;
}
