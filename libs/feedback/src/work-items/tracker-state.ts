import type { TrackerName } from '@muster/contracts';
import type { Database, FeedbackTrackerEntity } from '@muster/database';

/** Time after which one call tries a stopped tracker again. */
export const stoppedMs = 600_000;

export type TrackerAvailability =
  { open: true; stopped: boolean } | { open: false; waitMs: number; stoppedAt: Date | null; reason: string };

type State = Pick<FeedbackTrackerEntity, 'stoppedAt' | 'reason'> & { pausedMs: number | null; tryMs: number | null };

/** Returns whether a tracker may be called now, or when. Only one process at a time tries a stopped tracker. */
export async function readTrackerAvailability(database: Database, tracker: TrackerName): Promise<TrackerAvailability> {
  const [state] = await database.query<State>(
    'system',
    `SELECT stopped_at, reason, (extract(epoch FROM paused_until - muster_now()) * 1000)::float8 AS paused_ms,
            (extract(epoch FROM next_try_at - muster_now()) * 1000)::float8 AS try_ms
     FROM feedback_tracker WHERE tracker = $1`,
    [tracker],
  );
  if (!state) return { open: true, stopped: false };
  const { stoppedAt, reason, pausedMs, tryMs } = state;
  if (pausedMs !== null && pausedMs > 0) return { open: false, waitMs: pausedMs, stoppedAt: null, reason: 'paused' };
  if (!stoppedAt) return { open: true, stopped: false };
  const trial = await database.query(
    'system',
    `UPDATE feedback_tracker SET next_try_at = muster_now() + $2 * interval '1 millisecond'
     WHERE tracker = $1 AND stopped_at IS NOT NULL AND next_try_at <= muster_now() RETURNING tracker`,
    [tracker, stoppedMs],
  );
  if (trial.length > 0) return { open: true, stopped: true };
  return { open: false, waitMs: Math.max(tryMs ?? stoppedMs, 1000), stoppedAt, reason: reason ?? '' };
}

/** Stops all calls to a tracker until a trial call succeeds. Returns the time since which it is stopped. */
export async function stopTrackerSync(database: Database, tracker: TrackerName, reason: string): Promise<Date> {
  const [row] = await database.query<{ stoppedAt: Date }>(
    'system',
    `INSERT INTO feedback_tracker AS t (tracker, stopped_at, reason, next_try_at)
     VALUES ($1, muster_now(), $2, muster_now() + $3 * interval '1 millisecond')
     ON CONFLICT (tracker) DO UPDATE SET stopped_at = COALESCE(t.stopped_at, excluded.stopped_at),
       reason = excluded.reason, next_try_at = excluded.next_try_at
     RETURNING stopped_at`,
    [tracker, reason, stoppedMs],
  );
  return row!.stoppedAt;
}

/** Reopens a tracker after a successful call, and makes all waiting work items due. */
export async function resumeTrackerSync(database: Database, tracker: TrackerName): Promise<void> {
  await database.transaction('system', async (tx) => {
    const reopened = await tx.execute(
      `UPDATE feedback_tracker SET stopped_at = NULL, reason = NULL, next_try_at = NULL
       WHERE tracker = $1 AND stopped_at IS NOT NULL`,
      [tracker],
    );
    if (reopened === 0) return;
    await tx.execute('UPDATE feedback_work_item SET due_at = muster_now() WHERE due_at > muster_now()');
  });
}

/** Pauses all calls to a tracker, as it requested. */
export async function pauseTrackerSync(database: Database, tracker: TrackerName, pauseMs: number): Promise<void> {
  await database.query(
    'system',
    `INSERT INTO feedback_tracker AS t (tracker, paused_until) VALUES ($1, muster_now() + $2 * interval '1 millisecond')
     ON CONFLICT (tracker) DO UPDATE SET paused_until = GREATEST(t.paused_until, excluded.paused_until)`,
    [tracker, pauseMs],
  );
}
