import type { Database, WebhookDeliveryEntity, WebhookEndpointEntity, WebhookSecretEntity } from '@muster/database';
import { newId } from '@muster/platform';

export type SealedSecret = Pick<WebhookSecretEntity, 'id' | 'masterKeyId'> & { wrappedKey: string; sealed: string };

/** A delivery that this process has leased, with everything that an attempt needs. */
export interface ClaimedDelivery
  extends
    Pick<WebhookDeliveryEntity, 'id' | 'organizationId' | 'endpointId' | 'type' | 'tries'>,
    Pick<WebhookEndpointEntity, 'failingSince'> {
  url: string;
  leaseId: string;
  /** Trace context of the run that the event is about; null for other events. */
  traceparent: string | null;
  body: string;
  /** Secrets that have not expired, newest first. Their bytes are in base64. */
  secrets: SealedSecret[];
}

/**
 * Lease duration; longer than one attempt can take. If a process dies while it holds the lease, the delivery can be
 * claimed again after this time.
 */
const leaseMs = 30_000;

/** Claims the endpoint’s oldest due delivery that no process has leased. Channels use `claimMessage` instead. */
export async function claimDelivery(
  database: Database,
  endpointId: string,
  now: Date,
): Promise<ClaimedDelivery | undefined> {
  // A crash can lose this commit; then the delivery is claimed and sent again.
  const [claimed] = await database.queryUnflushed<ClaimedDelivery>(
    'system',
    `WITH own AS (SELECT enabled FROM webhook_endpoint WHERE id = $1 AND kind = 'webhook'),
     due AS (
       SELECT d.id FROM webhook_delivery d
       WHERE d.endpoint_id = $1 AND d.status = 'pending' AND d.due_at <= $2
         AND (d.leased_until IS NULL OR d.leased_until < $2) AND (SELECT enabled FROM own)
       ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED),
     due_redelivery AS (
       SELECT d.id FROM webhook_delivery d
       WHERE d.endpoint_id = $1 AND d.status = 'pending' AND d.asked AND d.due_at <= $2
         AND (d.leased_until IS NULL OR d.leased_until < $2) AND NOT (SELECT enabled FROM own)
       ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED),
     next AS (SELECT id FROM due UNION ALL SELECT id FROM due_redelivery)
     UPDATE webhook_delivery d SET lease_id = $3, leased_until = $2 + $4 * interval '1 millisecond'
     FROM next, webhook_event e, webhook_endpoint w
     WHERE d.id = next.id AND e.id = d.event_id AND w.id = d.endpoint_id
     RETURNING d.id, d.organization_id, d.endpoint_id, d.type, d.tries, d.lease_id, e.body, w.url, w.failing_since,
       (SELECT traceparent FROM job j WHERE j.id = e.subject_id AND e.type LIKE 'job.%') AS traceparent, (
       SELECT jsonb_agg(jsonb_build_object('id', s.id, 'masterKeyId', s.master_key_id,
           'wrappedKey', encode(s.wrapped_key, 'base64'), 'sealed', encode(s.sealed, 'base64')) ORDER BY s.id DESC)
       FROM webhook_secret s
       WHERE s.endpoint_id = w.id AND (s.expires_at IS NULL OR s.expires_at > $2)) AS secrets`,
    [endpointId, now, newId(), leaseMs],
    'claim_webhook_delivery',
  );
  return claimed;
}

/**
 * SQL for the endpoints with pending deliveries, found with one index lookup per endpoint. The deliveries of an
 * endpoint that is off are never scanned, because days of them may have accumulated.
 */
const waiting = `
  WITH RECURSIVE pending AS (
    (SELECT endpoint_id FROM webhook_delivery WHERE status = 'pending' ORDER BY endpoint_id LIMIT 1)
    UNION ALL
    SELECT (SELECT d.endpoint_id FROM webhook_delivery d WHERE d.status = 'pending' AND d.endpoint_id > p.endpoint_id
            ORDER BY d.endpoint_id LIMIT 1)
    FROM pending p WHERE p.endpoint_id IS NOT NULL),
  waiting AS (SELECT w.id, w.enabled FROM pending JOIN webhook_endpoint w ON w.id = pending.endpoint_id)`;
const dueIfEnabled = `SELECT FROM webhook_delivery d
  WHERE d.endpoint_id = w.id AND d.status = 'pending' AND d.due_at <= $1 AND w.enabled`;
const dueIfDisabled = `SELECT FROM webhook_delivery d
  WHERE d.endpoint_id = w.id AND d.status = 'pending' AND d.asked AND d.due_at <= $1 AND NOT w.enabled`;
const isUnleased = '(d.leased_until IS NULL OR d.leased_until < $1)';

/** Ids of the endpoints that have due deliveries. */
export async function listEndpointsWithDueDeliveries(database: Database, now: Date): Promise<string[]> {
  const rows = await database.query<Pick<WebhookEndpointEntity, 'id'>>(
    'system',
    `${waiting} SELECT w.id FROM waiting w WHERE EXISTS (${dueIfEnabled}) OR EXISTS (${dueIfDisabled})`,
    [now],
    'endpoints_with_due',
  );
  return rows.map(({ id }) => id);
}

/** Counts due deliveries that no process has leased, up to `atMost`. */
export async function countDueDeliveries(database: Database, now: Date, atMost = 10_000): Promise<number> {
  const [row] = await database.query<{ due: number }>(
    'system',
    `${waiting} SELECT count(*)::int AS due FROM (
       SELECT FROM waiting w, LATERAL (
         (${dueIfEnabled} AND ${isUnleased} LIMIT $2)
         UNION ALL (${dueIfDisabled} AND ${isUnleased} LIMIT $2)) d LIMIT $2) counted`,
    [now, atMost],
    'count_due_webhooks',
  );
  return row!.due;
}
