import type { AutopilotSessionEntity, Database } from '@muster/database';
import { nilId, Round, sweep, type SweepCounts } from '@muster/platform';

/** One that was rung for, or whose handling broke, has its time in ring_at. */
const isDue = '(ring_at <= muster_now() OR (ring_at IS NULL AND due_at <= muster_now()))';

type Candidate = Pick<AutopilotSessionEntity, 'id'> & { at: string };

const first: Candidate = { id: nilId, at: '-infinity' };

/** A session that was rung for is left alone so long: it may be behind others. */
const restSeconds = 5;

/** Rings for sessions whose time has come: a lease that nobody renews, a pause that nobody ended, a message that was lost. */
export function sweepSessions(
  database: Database,
  round = new Round('sweep autopilot sessions'),
): Promise<SweepCounts<'rung'>> {
  return sweep(round, {
    name: 'autopilot sessions',
    outcomes: ['rung'],
    candidates: (after: Candidate | null, limit) =>
      database.query<Candidate & object>(
        'system',
        `SELECT id, COALESCE(ring_at, due_at)::text AS at FROM autopilot_session
         WHERE ${isDue} AND (COALESCE(ring_at, due_at), id) > ($1::timestamptz, $2::uuid)
         ORDER BY COALESCE(ring_at, due_at), id LIMIT $3`,
        [(after ?? first).at, (after ?? first).id, limit],
        'due_autopilot_sessions',
      ),
    settle: ({ id }) =>
      database.transaction('system', async (tx) => {
        // It stays due: whoever handles the message sees that its time has come.
        const rung = await tx.query(
          `WITH due AS (SELECT id FROM autopilot_session WHERE id = $1 AND ${isDue} FOR UPDATE SKIP LOCKED)
           UPDATE autopilot_session s SET ring_at = muster_now() + $2 * interval '1 second' FROM due WHERE s.id = due.id
           RETURNING s.id`,
          [id, restSeconds],
          'ring_autopilot_session',
        );
        if (rung.length === 0) return null;
        await tx.enqueue({ queue: 'autopilot', name: 'advance-session', payload: { sessionId: id } });
        return 'rung';
      }),
    rowOf: ({ id }) => `autopilot session ${id}`,
  });
}
