import type { Database } from '@muster/database';
import { firstCursor, Round, sweepRows, type SweepCounts, type TimedCursor } from '@muster/platform';

/**
 * A session is due at ring_at, the time for its next message. ring_at is set when a message is sent and when an advance
 * fails. If it is null, the session is due at due_at.
 */
const isDue = '(ring_at <= muster_now() OR (ring_at IS NULL AND due_at <= muster_now()))';

/** Seconds until a session gets another message, because the first message may still wait in the queue. */
const messageDelaySeconds = 5;

/**
 * Enqueues a message for each due session: a session whose lease expired, that is paused for too long, or whose message
 * was lost.
 */
export function sweepSessions(
  database: Database,
  round = new Round('sweep autopilot sessions'),
): Promise<SweepCounts<'rung'>> {
  return sweepRows(round, {
    name: 'autopilot sessions',
    outcomes: ['rung'],
    candidates: (after: TimedCursor | null, limit) =>
      database.query<TimedCursor & object>(
        'system',
        `SELECT id, COALESCE(ring_at, due_at)::text AS at FROM autopilot_session
         WHERE ${isDue} AND (COALESCE(ring_at, due_at), id) > ($1::timestamptz, $2::uuid)
         ORDER BY COALESCE(ring_at, due_at), id LIMIT $3`,
        [(after ?? firstCursor).at, (after ?? firstCursor).id, limit],
        'due_autopilot_sessions',
      ),
    settle: ({ id }) =>
      database.transaction('system', async (tx) => {
        // due_at stays unchanged, so that the process that handles the message sees that the time has passed.
        const rung = await tx.query(
          `WITH due AS (SELECT id FROM autopilot_session WHERE id = $1 AND ${isDue} FOR UPDATE SKIP LOCKED)
           UPDATE autopilot_session s SET ring_at = muster_now() + $2 * interval '1 second' FROM due WHERE s.id = due.id
           RETURNING s.id`,
          [id, messageDelaySeconds],
          'ring_autopilot_session',
        );
        if (rung.length === 0) return null;
        await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId: id } });
        return 'rung';
      }),
    rowOf: ({ id }) => `autopilot session ${id}`,
  });
}
