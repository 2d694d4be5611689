import { purgeByRetention } from '@muster/access';
import type { Database } from '@muster/database';
import type { Round } from '@muster/platform';

const rowBatchSize = 1000;

/**
 * Deletes usage, cost components and model calls after the organization's retention periods. Usage is deleted by whole
 * months, the counter with its events, so that the counter remains the sum of its events. The total cost of a run
 * stays.
 */
export async function purgeUsage(
  database: Database,
  round: Round,
  now: Date,
): Promise<{ usage: number; costs: number; modelCalls: number }> {
  const usage = await purgeByRetention(database, round, {
    name: 'usage',
    keptFor: 'usageRetentionDays',
    now,
    step: (organizationId, before) =>
      database.transaction('system', async (tx) => {
        const [old] = await tx.query<{ month: string }>(
          `SELECT min(month)::text AS month FROM usage_event
           WHERE organization_id = $1 AND month + interval '1 month' <= $2::timestamptz AT TIME ZONE 'UTC'`,
          [organizationId, before],
        );
        if (!old?.month) return 0;
        const ofMonth = [organizationId, old.month];
        await tx.execute('DELETE FROM usage_counter WHERE organization_id = $1 AND month = $2', ofMonth);
        await tx.execute('DELETE FROM limit_notice WHERE organization_id = $1 AND month = $2', ofMonth);
        return tx.execute('DELETE FROM usage_event WHERE organization_id = $1 AND month = $2', ofMonth);
      }),
  });
  const costs = await purgeByRetention(database, round, {
    name: 'costs',
    keptFor: 'costRetentionDays',
    now,
    step: async (organizationId, before) => {
      const rows = await database.query(
        'system',
        `WITH dropped AS (
           DELETE FROM run_cost_component c USING (
             SELECT job_id, position FROM run_cost_component
             WHERE organization_id = $1 AND finished_at < $2 ORDER BY finished_at LIMIT $3) old
           WHERE c.job_id = old.job_id AND c.position = old.position AND c.organization_id = $1
           RETURNING c.position, c.finished_at),
         change AS (
           INSERT INTO run_cost_change (organization_id, finished_at)
           SELECT $1, min(finished_at) FROM dropped GROUP BY date_bin('15 minutes', finished_at, 'epoch'::timestamptz))
         SELECT position FROM dropped`,
        [organizationId, before, rowBatchSize],
        'purge_costs',
      );
      return rows.length;
    },
  });
  const calls = await purgeByRetention(database, round, {
    name: 'model calls',
    keptFor: 'costRetentionDays',
    now,
    step: (organizationId, before) =>
      database.transaction('system', (tx) =>
        tx.execute(
          `DELETE FROM model_call WHERE id IN (
             SELECT id FROM model_call WHERE organization_id = $1 AND at < $2 ORDER BY at LIMIT $3)`,
          [organizationId, before, rowBatchSize],
          'purge_model_calls',
        ),
      ),
  });
  return { usage: usage.purged, costs: costs.purged, modelCalls: calls.purged };
}
