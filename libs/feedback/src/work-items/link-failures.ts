import type { FeedbackStatus } from '@muster/contracts';
import type { Database } from '@muster/database';
import { ItemGone, TrackerBusy, TrackerClosed, TrackerRefused } from '@muster/trackers';
import { insertStatusChange } from '../submissions/set-submission-status';
import type { Link, WorkItem } from './lease-work-item';
import { pauseTrackerSync, stoppedMs, stopTrackerSync } from './tracker-state';

const firstWaitMs = 1000;
const maxWaitMs = 900_000;

interface FailureParts {
  database: Database;
  /** Number of consecutive failures after which a link is dead. */
  attempts: number;
}

/** Records a failed call on its link. Returns the delay until the next attempt; null if there is no automatic retry. */
export async function recordLinkFailure(
  { database, attempts: maxAttempts }: FailureParts,
  item: WorkItem,
  link: Link,
  error: unknown,
): Promise<number | null> {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof ItemGone) {
    await unlinkTrackerItem(database, item, link, message);
    return null;
  }
  if (error instanceof TrackerClosed) {
    const stoppedAt = await stopTrackerSync(database, link.tracker, message);
    await database.query('system', 'UPDATE feedback_link SET claimed_at = NULL WHERE id = $1', [link.id]);
    await recordTrackerStop(database, item, link, { stoppedAt, reason: message });
    return stoppedMs;
  }
  if (error instanceof TrackerBusy && error.isRateLimit) {
    const pauseMs = error.retryAfterMs ?? maxWaitMs;
    await pauseTrackerSync(database, link.tracker, pauseMs);
    await database.query('system', 'UPDATE feedback_link SET claimed_at = NULL WHERE id = $1', [link.id]);
    return pauseMs;
  }
  const isDead = error instanceof TrackerRefused || link.attempts + 1 >= maxAttempts;
  const requestedMs = error instanceof TrackerBusy ? error.retryAfterMs : null;
  const backoffMs = Math.min(firstWaitMs * 2 ** link.attempts, maxWaitMs) * (0.5 + Math.random() / 2);
  const waitMs = Math.max(requestedMs ?? 0, backoffMs);
  await database.transaction('system', async (tx) => {
    await tx.execute(
      `UPDATE feedback_link SET attempts = attempts + 1, error = $2, failing_since = COALESCE(failing_since, muster_now()),
         next_try_at = muster_now() + $3 * interval '1 millisecond', dead_at = CASE WHEN $4 THEN muster_now() END,
         claimed_at = CASE WHEN $5 THEN NULL ELSE claimed_at END
       WHERE id = $1`,
      [link.id, message.slice(0, 1000), waitMs, isDead, error instanceof TrackerRefused],
    );
    if (isDead) await addHistoryEntry(tx, item, link, `failed permanently: ${message}`);
  });
  return isDead ? null : waitMs;
}

/** Clears the failures of a link after a success. */
export async function clearLinkFailure(database: Database, link: Link): Promise<void> {
  if (link.attempts === 0 && !link.failingSince && link.waitMs === null) return;
  await database.query(
    'system',
    `UPDATE feedback_link SET attempts = 0, error = NULL, failing_since = NULL, next_try_at = NULL WHERE id = $1`,
    [link.id],
  );
}

/** Records a tracker stop in the submission’s history, once per stop. */
export async function recordTrackerStop(
  database: Database,
  item: WorkItem,
  link: Link,
  { stoppedAt, reason }: { stoppedAt: Date; reason: string },
): Promise<void> {
  if (link.stopToldAt && link.stopToldAt >= stoppedAt) return;
  await database.transaction('system', async (tx) => {
    await tx.execute('UPDATE feedback_link SET stop_told_at = $2 WHERE id = $1', [link.id, stoppedAt]);
    await addHistoryEntry(tx, item, link, `stopped: ${reason}`);
  });
}

/** Records a refused branch in the history and on the link; the empty branch name prevents a retry. */
export async function recordBranchRefusal(
  database: Database,
  item: WorkItem,
  link: Link,
  reason: string,
): Promise<void> {
  await database.transaction('system', async (tx) => {
    await tx.execute(`UPDATE feedback_link SET error = $2, branch = '' WHERE id = $1`, [
      link.id,
      reason.slice(0, 1000),
    ]);
    await addHistoryEntry(tx, item, link, reason);
  });
}

async function unlinkTrackerItem(database: Database, item: WorkItem, link: Link, message: string): Promise<void> {
  await database.transaction('system', async (tx) => {
    const unlinked = await tx.execute(
      `UPDATE feedback_link SET unlinked_at = muster_now(), error = $2, next_try_at = NULL
       WHERE id = $1 AND unlinked_at IS NULL`,
      [link.id, message.slice(0, 1000)],
    );
    if (unlinked === 1)
      await addHistoryEntry(tx, item, link, `unlinked: ${link.externalUrl ?? link.externalId} is gone (${message})`);
  });
}

type Tx = Parameters<Parameters<Database['transaction']>[1]>[0];

async function addHistoryEntry(tx: Tx, item: WorkItem, { tracker }: Link, reason: string): Promise<void> {
  const [row] = await tx.query<{ status: FeedbackStatus; now: Date }>(
    'SELECT status, muster_now() AS now FROM feedback_submission WHERE id = $1 FOR UPDATE',
    [item.id],
  );
  if (!row) return;
  const { status, now } = row;
  await insertStatusChange(tx, item, {
    at: now,
    from: status,
    to: status,
    source: tracker,
    reason: reason.slice(0, 2000),
  });
}
