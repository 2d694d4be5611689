import { purgeByRetention } from '@muster/access';
import type { Database } from '@muster/database';
import type { Round } from '@muster/platform';

const rowsAtOnce = 1000;

/** Drops what runs wrote, and what else happened on machines, after the periods that each organization keeps them. */
export async function purgeTimeline(
  database: Database,
  round: Round,
  now: Date,
): Promise<{ logs: number; timeline: number }> {
  const purge = (name: string, keptFor: 'logRetentionDays' | 'timelineRetentionDays', isLog: boolean) =>
    purgeByRetention(database, round, {
      name,
      keptFor,
      now,
      step: async (organizationId, before) => {
        const rows = await database.query(
          'system',
          purgeSql,
          [organizationId, before, isLog, rowsAtOnce],
          'purge_timeline',
        );
        return rows.length;
      },
    });
  const logs = await purge('logs', 'logRetentionDays', true);
  const timeline = await purge('timeline', 'timelineRetentionDays', false);
  return { logs: logs.purged, timeline: timeline.purged };
}

const purgeSql = `
  DELETE FROM timeline_entry t USING (
    SELECT old.* FROM agent a CROSS JOIN LATERAL (
      SELECT agent_id, seq, recorded_at FROM timeline_entry
      WHERE agent_id = a.id AND organization_id = $1 AND recorded_at < $2 AND (kind = 'execution') = $3
      ORDER BY seq LIMIT $4) old
    WHERE a.organization_id = $1 LIMIT $4) old
  WHERE t.agent_id = old.agent_id AND t.seq = old.seq AND t.recorded_at = old.recorded_at AND t.organization_id = $1
  RETURNING t.seq`;
