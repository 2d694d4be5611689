import type { Database } from '@muster/database';
import { firstCursor, Round, sweepRows, type SweepCounts, type TimedCursor } from '@muster/platform';

/**
 * A session is due at ring_at, the time for its next message. ring_at is set when a message is sent and when an advance
 * fails. If it is null, the session is due at due_at.
 */
const due = {
  label: 'due',
  condition: '(s.ring_at <= muster_now() OR (s.ring_at IS NULL AND s.due_at <= muster_now()))',
};

/** Seconds until a session gets another message, because the first message may still wait in the queue. */
const messageDelaySeconds = 5;

/**
 * A paused session whose question has ended gets its message with the answer. During a rolling update, a process of the
 * previous version may handle this message, and that version knows nothing of answers. Every open session has due_at,
 * so the index of due_at finds the paused ones.
 */
const answered = {
  label: 'answered',
  condition: `(s.due_at IS NOT NULL AND s.ring_at IS NULL AND s.status = 'paused' AND EXISTS (
    SELECT FROM question q WHERE q.session_id = s.id AND q.id = (s.paused_for->>'questionId')::uuid
      AND q.ended_at <= muster_now() - ${messageDelaySeconds} * interval '1 second'))`,
};

/**
 * Enqueues a message for each due session: a session whose lease expired, that is paused for too long, or whose message
 * was lost. A paused session whose question was answered also gets a message.
 */
export async function sweepSessions(
  database: Database,
  round = new Round('sweep autopilot sessions'),
): Promise<SweepCounts<'rung'>> {
  const first = await sweepSessionsThat(due, database, round);
  const second = await sweepSessionsThat(answered, database, round);
  return { looked: first.looked + second.looked, rung: first.rung + second.rung };
}

function sweepSessionsThat(
  { label, condition }: { label: string; condition: string },
  database: Database,
  round: Round,
): Promise<SweepCounts<'rung'>> {
  return sweepRows(round, {
    name: `${label} autopilot sessions`,
    outcomes: ['rung'],
    candidates: (after: TimedCursor | null, limit) =>
      database.query<TimedCursor & object>(
        'system',
        `SELECT s.id, COALESCE(s.ring_at, s.due_at)::text AS at FROM autopilot_session s
         WHERE ${condition} AND (COALESCE(s.ring_at, s.due_at), s.id) > ($1::timestamptz, $2::uuid)
         ORDER BY COALESCE(s.ring_at, s.due_at), s.id LIMIT $3`,
        [(after ?? firstCursor).at, (after ?? firstCursor).id, limit],
        `${label}_autopilot_sessions`,
      ),
    settle: ({ id }) =>
      database.transaction('system', async (tx) => {
        // due_at stays unchanged, so that the process that handles the message sees that the time has passed.
        const rung = await tx.query(
          `WITH locked AS (SELECT s.id FROM autopilot_session s WHERE s.id = $1 AND ${condition} FOR UPDATE SKIP LOCKED)
           UPDATE autopilot_session s SET ring_at = muster_now() + $2 * interval '1 second' FROM locked
           WHERE s.id = locked.id
           RETURNING s.id`,
          [id, messageDelaySeconds],
          `ring_${label}_autopilot_session`,
        );
        if (rung.length === 0) return null;
        await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId: id } });
        return 'rung';
      }),
    rowOf: ({ id }) => `autopilot session ${id}`,
  });
}
