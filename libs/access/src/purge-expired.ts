import type { Database } from '@muster/database';
import { purge, Round } from '@muster/platform';
import { sessionIdleMs } from './authentication/authenticator';
import { knownAddressDays } from './authentication/sign-in-addresses';

/** Drops sessions that are over, stored answers past their day and addresses past their month. */
export function purgeExpired(
  database: Database,
  now: Date,
  round = new Round('purge expired'),
): Promise<Record<'sessions' | 'addresses' | 'idempotencyKeys', number>> {
  const drop = (sql: string, values: unknown[]) => database.transaction('system', (tx) => tx.execute(sql, values));
  return purge(round, {
    sessions: (limit) =>
      drop(
        `DELETE FROM user_session WHERE id IN (
           SELECT id FROM user_session WHERE expires_at < $1 OR last_seen_at < $2 LIMIT $3 FOR UPDATE SKIP LOCKED)`,
        [now, new Date(now.getTime() - sessionIdleMs), limit],
      ),
    addresses: (limit) =>
      drop(
        `DELETE FROM sign_in_address WHERE (user_id, address) IN (
           SELECT user_id, address FROM sign_in_address WHERE last_at < $1::timestamptz - $2 * interval '1 day'
           LIMIT $3 FOR UPDATE SKIP LOCKED)`,
        [now, knownAddressDays, limit],
      ),
    idempotencyKeys: (limit) =>
      drop(
        `DELETE FROM idempotency_key WHERE (organization_id, route, key) IN (
           SELECT organization_id, route, key FROM idempotency_key WHERE expires_at < $1
           LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
  });
}
