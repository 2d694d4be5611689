/* eslint-disable muster/one-clock -- Places in the timeline are dated by the database, as what several hosts wrote has one order. */
import { purgeByRetention } from '@muster/access';
import type { Database } from '@muster/database';
import type { Round } from '@muster/platform';

/** What one statement looks at: so many agents, and of each so many entries. */
const agentsAtOnce = 20;
const entriesAtOnce = 500;

interface Step {
  dropped: number;
  /** Agents that have nothing more to drop. */
  settled: number;
}

/** Drops what runs wrote, and what else happened on machines, after the periods that each organization keeps them. */
export async function purgeTimeline(
  database: Database,
  round: Round,
  now: Date,
): Promise<{ logs: number; timeline: number }> {
  const purge = (name: string, keptFor: 'logRetentionDays' | 'timelineRetentionDays', sql: string) =>
    purgeByRetention(database, round, {
      name,
      keptFor,
      now,
      step: async (organizationId, before) => {
        for (;;) {
          const [step] = await database.query<Step>('system', sql, [organizationId, before], `purge_${name}`);
          if (step!.dropped > 0 || step!.settled === 0 || !round.hasTime) return step!.dropped;
        }
      },
    });
  const logs = await purge('logs', 'logRetentionDays', dropOld('logs_since', `kind = 'execution'`));
  const timeline = await purge('timeline', 'timelineRetentionDays', dropOld('others_since', `kind <> 'execution'`));
  return { logs: logs.purged, timeline: timeline.purged };
}

/**
 * The agents whose oldest entry of a kind is too old, by an index of these times, and of them the entries since then.
 * Where no more is left of an agent's, its time becomes that of the next entry; to find it, 100 are looked at, and the
 * last of these is as good. Who appends at that moment is not waited for: its agent's turn is the next one.
 *
 * An entry's time is when its transaction began, so that it may be a little before what came ahead of it: a day is more
 * than any of them takes.
 */
const dropOld = (since: 'logs_since' | 'others_since', isOfKind: string) => `
  WITH due AS MATERIALIZED (
    SELECT agent_id, ${since} - interval '1 day' AS since FROM timeline_head
    WHERE organization_id = $1 AND ${since} < $2 ORDER BY ${since} LIMIT ${agentsAtOnce}),
  old AS MATERIALIZED (
    SELECT entry.* FROM due CROSS JOIN LATERAL (
      SELECT agent_id, seq, recorded_at FROM timeline_entry
      WHERE agent_id = due.agent_id AND organization_id = $1 AND recorded_at >= due.since AND recorded_at < $2
        AND ${isOfKind}
      ORDER BY seq LIMIT ${entriesAtOnce}) entry),
  dropped AS (
    DELETE FROM timeline_entry t USING old
    WHERE t.agent_id = old.agent_id AND t.seq = old.seq AND t.recorded_at = old.recorded_at AND t.organization_id = $1
    RETURNING t.agent_id),
  done AS (
    SELECT h.agent_id FROM timeline_head h JOIN due ON due.agent_id = h.agent_id
    WHERE (SELECT count(*) FROM dropped WHERE dropped.agent_id = h.agent_id) < ${entriesAtOnce}
    FOR UPDATE OF h SKIP LOCKED),
  settled AS (
    UPDATE timeline_head h SET ${since} = COALESCE((
      SELECT min(recorded_at) FILTER (WHERE is_of_kind OR place = 100) FROM (
        SELECT recorded_at, ${isOfKind} AS is_of_kind, row_number() OVER () AS place FROM (
          SELECT recorded_at, kind FROM timeline_entry
          WHERE agent_id = h.agent_id AND organization_id = $1 AND recorded_at >= $2 ORDER BY seq LIMIT 100) kept) looked_at),
      now())
    FROM done WHERE h.agent_id = done.agent_id AND h.organization_id = $1 RETURNING h.agent_id)
  SELECT (SELECT count(*) FROM dropped)::int AS dropped, (SELECT count(*) FROM settled)::int AS settled`;
