import type { Database } from '@muster/database';
import { sessionIdleMs } from './authentication/authenticator';

/** Drops sessions that are over and stored answers past their day, a bounded number at a time. */
export async function purgeExpired(
  database: Database,
  now: Date,
): Promise<{ sessions: number; idempotencyKeys: number }> {
  return database.transaction('system', async (tx) => ({
    sessions: await tx.execute(
      `DELETE FROM user_session WHERE id IN (
         SELECT id FROM user_session WHERE expires_at < $1 OR last_seen_at < $2 LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
      [now, new Date(now.getTime() - sessionIdleMs)],
    ),
    idempotencyKeys: await tx.execute(
      `DELETE FROM idempotency_key WHERE (organization_id, route, key) IN (
         SELECT organization_id, route, key FROM idempotency_key WHERE expires_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
      [now],
    ),
  }));
}
