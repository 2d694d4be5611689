import type { Database } from '@muster/database';
import { purgeTables, Round } from '@muster/platform';

/**
 * Deletes outcomes of scheduled times that are older than the retention, including the newest outcome of a schedule.
 */
export async function purgeScheduleHistory(
  database: Database,
  { now, keepDays, limit = 10_000 }: { now: Date; keepDays: number; limit?: number },
  round = new Round('purge schedule history'),
): Promise<{ purged: number }> {
  if (keepDays === 0) return { purged: 0 };
  const purgeBatch = (batch: number) =>
    database.transaction('system', (tx) =>
      tx.execute(
        `DELETE FROM schedule_run WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM schedule_run
           WHERE fired_at AT TIME ZONE 'UTC' < ($1::timestamptz - $2 * interval '1 day') AT TIME ZONE 'UTC' LIMIT $3))`,
        [now, keepDays, batch],
      ),
    );
  return purgeTables(round, { purged: purgeBatch }, limit);
}
