import type { Database } from '@muster/database';
import { purgeTables, type Round } from '@muster/platform';

const retentionDays = 90;

/** Deletes alerts 90 days after they were resolved. */
export function purgeAlerts(database: Database, round: Round, now: Date): Promise<Record<'alerts', number>> {
  return purgeTables(round, {
    alerts: (limit) =>
      database.transaction('system', (tx) =>
        tx.execute(
          `DELETE FROM alert WHERE id IN (
             SELECT id FROM alert WHERE resolved_at < $1::timestamptz - $3 * interval '1 day'
             ORDER BY resolved_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
          [now, limit, retentionDays],
        ),
      ),
  });
}
