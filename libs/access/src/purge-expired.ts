import type { Database } from '@muster/database';
import { smallestIdAt, purgeTables, Round } from '@muster/platform';
import { knownAddressDays } from './authentication/sign-in-addresses';

/** Retention of the access log: six years, as the HIPAA Security Rule requires for documentation (45 CFR 164.316). */
const accessLogDays = 2192;
const dayMs = 86_400_000;

/**
 * Deletes expired sessions, tickets, challenges, device logins and stored responses, sign-in addresses that were not
 * used for 30 days, and access log entries after six years.
 */
export function purgeExpiredCredentials(
  database: Database,
  now: Date,
  round = new Round('purge expired'),
): Promise<
  Record<'sessions' | 'tickets' | 'challenges' | 'deviceLogins' | 'addresses' | 'accesses' | 'idempotencyKeys', number>
> {
  const deleteRows = (sql: string, values: unknown[]) =>
    database.transaction('system', (tx) => tx.execute(sql, values));
  return purgeTables(round, {
    sessions: (limit) =>
      deleteRows(
        `DELETE FROM user_session WHERE id IN (
           SELECT id FROM user_session WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
    tickets: (limit) =>
      deleteRows(
        `DELETE FROM sign_in_ticket WHERE id IN (
           SELECT id FROM sign_in_ticket WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
    challenges: (limit) =>
      deleteRows(
        `DELETE FROM passkey_challenge WHERE challenge IN (
           SELECT challenge FROM passkey_challenge WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
    deviceLogins: (limit) =>
      deleteRows(
        `DELETE FROM device_login WHERE id IN (
           SELECT id FROM device_login WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
    addresses: (limit) =>
      deleteRows(
        `DELETE FROM sign_in_address WHERE (user_id, address) IN (
           SELECT user_id, address FROM sign_in_address WHERE last_at < $1::timestamptz - $2 * interval '1 day'
           LIMIT $3 FOR UPDATE SKIP LOCKED)`,
        [now, knownAddressDays, limit],
      ),
    accesses: (limit) =>
      deleteRows(
        `DELETE FROM access_entry WHERE id IN (SELECT id FROM access_entry WHERE id < $1 ORDER BY id LIMIT $2)`,
        [smallestIdAt(new Date(now.getTime() - accessLogDays * dayMs)), limit],
      ),
    idempotencyKeys: (limit) =>
      deleteRows(
        `DELETE FROM idempotency_key WHERE (organization_id, route, key) IN (
           SELECT organization_id, route, key FROM idempotency_key WHERE expires_at < $1
           LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
  });
}
