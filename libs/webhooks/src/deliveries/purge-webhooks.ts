import type { Database } from '@muster/database';
import { purgeTables, type Round } from '@muster/platform';

const retentionDays = 30;
/** Events with `once` are retained longer than their month, so that they are not emitted twice in it. */
const onceRetentionDays = 62;

/** Deletes deliveries with their attempts and events after 30 days, and expired secrets. */
export function purgeWebhooks(
  database: Database,
  round: Round,
  now: Date,
): Promise<Record<'deliveries' | 'events' | 'secrets', number>> {
  const deleteRows = (sql: string, ...values: unknown[]) =>
    database.transaction('system', (tx) => tx.execute(sql, [now, ...values]));
  return purgeTables(round, {
    deliveries: (limit) =>
      deleteRows(
        `DELETE FROM webhook_delivery WHERE id IN (
           SELECT id FROM webhook_delivery WHERE created_at < $1::timestamptz - $3 * interval '1 day'
           ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        limit,
        retentionDays,
      ),
    events: (limit) =>
      deleteRows(
        `DELETE FROM webhook_event WHERE id IN (
           SELECT e.id FROM webhook_event e
           WHERE e.created_at < $1::timestamptz - $3 * interval '1 day'
             AND (e.once IS NULL OR e.created_at < $1::timestamptz - $4 * interval '1 day')
             AND NOT EXISTS (SELECT FROM webhook_delivery d WHERE d.event_id = e.id)
           ORDER BY e.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        limit,
        retentionDays,
        onceRetentionDays,
      ),
    secrets: (limit) =>
      deleteRows(
        `DELETE FROM webhook_secret WHERE id IN (
           SELECT id FROM webhook_secret WHERE expires_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
        limit,
      ),
  });
}
