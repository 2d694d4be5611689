/* eslint-disable muster/one-clock -- Timeline entries are dated by the database clock, which gives the entries of all hosts one order. */
import { purgeByRetention } from '@muster/access';
import type { Database } from '@muster/database';
import type { Round } from '@muster/platform';

/** Maximum number of agents per statement. */
const agentBatchSize = 20;
/** Maximum number of entries per agent and statement. */
const entryBatchSize = 500;

interface Step {
  dropped: number;
  /** Number of agents without further entries to delete. */
  advanced: number;
}

/**
 * Deletes expired entries. Each organization has one retention period for the log entries of runs and another for all
 * other entries.
 */
export async function purgeTimeline(
  database: Database,
  round: Round,
  now: Date,
): Promise<{ logs: number; timeline: number }> {
  const purgeKind = (name: string, keptFor: 'logRetentionDays' | 'timelineRetentionDays', sql: string) =>
    purgeByRetention(database, round, {
      name,
      keptFor,
      now,
      step: async (organizationId, before) => {
        for (;;) {
          const [step] = await database.query<Step>('system', sql, [organizationId, before], `purge_${name}`);
          if (step!.dropped > 0 || step!.advanced === 0 || !round.hasTime) return step!.dropped;
        }
      },
    });
  const logs = await purgeKind('logs', 'logRetentionDays', deleteExpiredEntriesSql('logs_since', `kind = 'execution'`));
  const timeline = await purgeKind(
    'timeline',
    'timelineRetentionDays',
    deleteExpiredEntriesSql('others_since', `kind <> 'execution'`),
  );
  return { logs: logs.purged, timeline: timeline.purged };
}

/**
 * Deletes expired entries of one kind, for agents whose oldest entry of this kind has expired. An index on the time of
 * the oldest entry finds these agents. If an agent has no further expired entry, the stored time advances to that of
 * the agent's next entry of the kind. Only the next 100 entries are searched for it; if none is of the kind, the time
 * of the last searched entry is stored. The update skips a timeline_head row that a transaction has locked to append
 * entries; a later step advances it.
 *
 * An entry's time is the start of its transaction, so it may be slightly earlier than the time of the previous entry.
 * Therefore there is a margin of one day, which is longer than any transaction takes.
 */
const deleteExpiredEntriesSql = (since: 'logs_since' | 'others_since', isOfKind: string) => `
  WITH due_agents AS MATERIALIZED (
    SELECT agent_id, ${since} - interval '1 day' AS since FROM timeline_head
    WHERE organization_id = $1 AND ${since} < $2 ORDER BY ${since} LIMIT ${agentBatchSize}),
  expired_entries AS MATERIALIZED (
    SELECT entry.* FROM due_agents CROSS JOIN LATERAL (
      SELECT agent_id, seq, recorded_at FROM timeline_entry
      WHERE agent_id = due_agents.agent_id AND organization_id = $1 AND recorded_at >= due_agents.since AND recorded_at < $2
        AND ${isOfKind}
      ORDER BY seq LIMIT ${entryBatchSize}) entry),
  delete_entries AS (
    DELETE FROM timeline_entry t USING expired_entries x
    WHERE t.agent_id = x.agent_id AND t.seq = x.seq AND t.recorded_at = x.recorded_at AND t.organization_id = $1
    RETURNING t.agent_id),
  finished_heads AS (
    SELECT h.agent_id FROM timeline_head h JOIN due_agents ON due_agents.agent_id = h.agent_id
    WHERE (SELECT count(*) FROM delete_entries d WHERE d.agent_id = h.agent_id) < ${entryBatchSize}
    FOR UPDATE OF h SKIP LOCKED),
  advance_heads AS (
    UPDATE timeline_head h SET ${since} = COALESCE((
      SELECT min(recorded_at) FILTER (WHERE is_of_kind OR row_no = 100) FROM (
        SELECT recorded_at, ${isOfKind} AS is_of_kind, row_number() OVER () AS row_no FROM (
          SELECT recorded_at, kind FROM timeline_entry
          WHERE agent_id = h.agent_id AND organization_id = $1 AND recorded_at >= $2 ORDER BY seq LIMIT 100) next_entries) candidates),
      now())
    FROM finished_heads f WHERE h.agent_id = f.agent_id AND h.organization_id = $1 RETURNING h.agent_id)
  SELECT (SELECT count(*) FROM delete_entries)::int AS dropped, (SELECT count(*) FROM advance_heads)::int AS advanced`;
