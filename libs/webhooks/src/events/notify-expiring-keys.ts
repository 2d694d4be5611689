import type { ApiKeyEntity, Database } from '@muster/database';
import { Round, sweepRows, type SweepCounts } from '@muster/platform';
import { emitEvent, isEventSubscribedSql } from './emit-event';

/** Days before a key’s expiry on which its organization is notified. */
const daysBefore = [14, 1];

type Expiring = Pick<ApiKeyEntity, 'id' | 'organizationId' | 'name' | 'scope'> & { expiresAt: Date; days: number };

/**
 * Emits an event for each key that expires soon, once for each of the days. A key that was created after such a day
 * gets no event for that day, because its creator knows the expiry. A key that is revoked during the sweep gets no
 * event either.
 */
export function notifyExpiringKeys(
  database: Database,
  now: Date,
  round = new Round('notify expiring keys'),
): Promise<SweepCounts<'emitted'>> {
  return sweepRows(round, {
    name: 'expiring keys',
    outcomes: ['emitted'],
    candidates: (after: Expiring | null, limit) =>
      database.query<Expiring & object>(
        'system',
        `SELECT k.id, k.organization_id, k.name, k.scope, k.expires_at, n.days
         FROM api_key k
         CROSS JOIN LATERAL (
           SELECT min(d) AS days FROM unnest($2::integer[]) AS d
           WHERE k.expires_at <= $1::timestamptz + d * interval '1 day') n
         WHERE k.expires_at > $1 AND k.created_at <= k.expires_at - n.days * interval '1 day'
           AND ($3::text IS NULL OR k.id > $3)
           AND ${isEventSubscribedSql('k.organization_id', "'api_key.expiring'")}
           AND NOT EXISTS (SELECT FROM webhook_event e
             WHERE e.organization_id = k.organization_id AND e.once = 'api_key.expiring ' || k.id || ' ' || n.days)
         ORDER BY k.id LIMIT $4`,
        [now, daysBefore, after?.id ?? null, limit],
        'expiring_keys',
      ),
    settle: ({ id, organizationId, name, scope, expiresAt, days }) =>
      database.transaction({ organizationId }, async (tx) => {
        const [key] = await tx.query('SELECT id FROM api_key WHERE id = $1 FOR SHARE', [id]);
        if (!key) return null;
        const details = { apiKeyId: id, name, scope, expiresAt: expiresAt.toISOString(), daysLeft: days };
        const once = `api_key.expiring ${id} ${days}`;
        emitEvent(tx, { organizationId, type: 'api_key.expiring', subjects: [{ id: organizationId, details }], once });
        return 'emitted';
      }),
    rowOf: ({ id }) => `API key ${id}`,
  });
}
