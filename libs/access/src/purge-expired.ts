import type { Database } from '@muster/database';
import { purgeTables, Round } from '@muster/platform';
import { defaultRetention, deleteRowsOfCutDays, type LogRetention, cutExpiredAuditDays } from './audit/chain/cut-days';
import { logs } from './audit/chain/presented-rows';
import { knownAddressDays } from './authentication/sign-in-addresses';

/**
 * Deletes expired sessions, tickets, challenges, sign-ins in progress, device logins, stored responses and links,
 * sign-in addresses that were not used for 30 days, and the closed days of the audit trail and of the access log that
 * exceed their retention.
 */
export async function purgeExpiredCredentials(
  database: Database,
  now: Date,
  {
    round = new Round('purge expired'),
    retention = defaultRetention,
  }: { round?: Round; retention?: LogRetention } = {},
): Promise<
  Record<
    | ('sessions' | 'tickets' | 'challenges' | 'ssoSignIns' | 'deviceLogins' | 'addresses' | 'accountLinks')
    | ('accesses' | 'audits' | 'idempotencyKeys'),
    number
  >
> {
  for (const log of logs) await cutExpiredAuditDays(database, now, log, retention[log]);
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
    ssoSignIns: (limit) =>
      deleteRows(
        `DELETE FROM sso_sign_in WHERE state_hash IN (
           SELECT state_hash FROM sso_sign_in WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
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
    accountLinks: (limit) =>
      deleteRows(
        `DELETE FROM account_link WHERE id IN (
           SELECT id FROM account_link WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
    accesses: (limit) => deleteRowsOfCutDays(database, 'access', limit),
    audits: (limit) => deleteRowsOfCutDays(database, 'audit', limit),
    idempotencyKeys: (limit) =>
      deleteRows(
        `DELETE FROM idempotency_key WHERE (organization_id, route, key) IN (
           SELECT organization_id, route, key FROM idempotency_key WHERE expires_at < $1
           LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        [now, limit],
      ),
  });
}
