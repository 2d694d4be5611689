import type { Database } from '@muster/database';
import { purge, Round } from '@muster/platform';

/** Drops what became of nominal times that are long past; the newest of every schedule goes as well. */
export async function purgeScheduleHistory(
  database: Database,
  { now, keepDays, limit = 10_000 }: { now: Date; keepDays: number; limit?: number },
  round = new Round('purge schedule history'),
): Promise<{ purged: number }> {
  if (keepDays === 0) return { purged: 0 };
  const purged = (most: number) =>
    database.transaction('system', (tx) =>
      tx.execute(
        `DELETE FROM schedule_run WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM schedule_run
           WHERE fired_at AT TIME ZONE 'UTC' < ($1::timestamptz - $2 * interval '1 day') AT TIME ZONE 'UTC' LIMIT $3))`,
        [now, keepDays, most],
      ),
    );
  return purge(round, { purged }, limit);
}
