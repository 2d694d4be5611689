import type { Database } from '@muster/database';
import { getStartOfDayBefore } from './close-days';
import type { LogName } from './presented-rows';

/** Number of days for which the rows of each log are kept; 0 keeps them forever. */
export type LogRetention = Record<LogName, number>;

/**
 * The access log is kept for six years, as the HIPAA Security Rule requires for documentation (45 CFR 164.316). The
 * audit trail is kept forever.
 */
export const defaultRetention: LogRetention = { audit: 0, access: 2192 };

/**
 * Cuts the closed days that are older than the retention from the beginning of a log. Their hashes stay, so the days
 * after them can still be verified.
 */
export async function cutExpiredAuditDays(database: Database, now: Date, log: LogName, days: number): Promise<void> {
  if (days === 0) return;
  const column = log === 'audit' ? 'audit_kept_from' : 'access_kept_from';
  await database.query(
    'system',
    `UPDATE audit_chain SET ${column} = LEAST($1, closed_before)
     WHERE closed_before IS NOT NULL AND coalesce(${column}, '-infinity') < LEAST($1, closed_before)`,
    [getStartOfDayBefore(now, days)],
  );
}

/** Deletes rows of cut days; returns their number. */
export async function deleteRowsOfCutDays(database: Database, log: LogName, limit: number): Promise<number> {
  if (log === 'access') {
    return database.transaction('system', (tx) =>
      tx.execute(
        `DELETE FROM access_entry WHERE id IN (
           SELECT id FROM access_entry
           WHERE at < (SELECT LEAST(access_kept_from, closed_before) FROM audit_chain WHERE access_kept_from IS NOT NULL)
           LIMIT $1)`,
        [limit],
      ),
    );
  }
  const [row] = await database.query<{ deleted: number }>('system', 'SELECT cut_audit_entries($1) AS deleted', [limit]);
  return row!.deleted;
}
