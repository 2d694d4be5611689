import type { Database } from '@muster/database';
import { sessionIdleMs } from './authentication/authenticator';
import { knownAddressDays } from './authentication/sign-in-addresses';

/** Drops sessions that are over, stored answers past their day and addresses past their month, some at a time. */
export async function purgeExpired(
  database: Database,
  now: Date,
): Promise<{ sessions: number; addresses: number; idempotencyKeys: number }> {
  return database.transaction('system', async (tx) => ({
    sessions: await tx.execute(
      `DELETE FROM user_session WHERE id IN (
         SELECT id FROM user_session WHERE expires_at < $1 OR last_seen_at < $2 LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
      [now, new Date(now.getTime() - sessionIdleMs)],
    ),
    addresses: await tx.execute(
      `DELETE FROM sign_in_address WHERE (user_id, address) IN (
         SELECT user_id, address FROM sign_in_address WHERE last_at < $1::timestamptz - $2 * interval '1 day'
         LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
      [now, knownAddressDays],
    ),
    idempotencyKeys: await tx.execute(
      `DELETE FROM idempotency_key WHERE (organization_id, route, key) IN (
         SELECT organization_id, route, key FROM idempotency_key WHERE expires_at < $1 LIMIT 1000 FOR UPDATE SKIP LOCKED)`,
      [now],
    ),
  }));
}
