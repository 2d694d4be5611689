import { audit } from '@muster/access';
import type { Database, Transaction, WebhookEndpointEntity } from '@muster/database';
import { type AttemptDecision, decideAfterAttempt } from './decide-after-attempt';
import type { ClaimedDelivery } from './claim-delivery';
import type { SentAttempt } from './send-delivery';
import { removeUrlQuery } from '../endpoints/remove-url-query';

type Endpoint = Pick<WebhookEndpointEntity, 'failingSince'>;

/** Records an attempt and the new state of its delivery and endpoint. Null if this process has lost the lease. */
export async function recordAttempt(
  database: Database,
  claimed: ClaimedDelivery,
  attempt: SentAttempt,
  { now, chance }: { now: Date; chance: number },
): Promise<AttemptDecision | null> {
  const { id, organizationId, endpointId, leaseId } = claimed;
  return database.transaction('system', async (tx) => {
    const [endpoint] = await tx.query<Endpoint>(
      `SELECT w.failing_since FROM webhook_delivery d JOIN webhook_endpoint w ON w.id = d.endpoint_id
       WHERE d.id = $1 AND d.lease_id = $2 FOR UPDATE OF d`,
      [id, leaseId],
      'lock_webhook_delivery',
    );
    if (!endpoint) return null;
    const { failingSince } = endpoint;
    const tries = claimed.tries + 1;
    const decision = decideAfterAttempt({ ...attempt, tries, failingSince }, now, chance);
    const { delivery } = decision;
    tx.deferStatement(
      `INSERT INTO webhook_attempt (delivery_id, number, organization_id, at, status_code, duration_ms, error)
       SELECT $1, COALESCE(max(number), 0) + 1, $2, $3, $4, $5, $6 FROM webhook_attempt WHERE delivery_id = $1`,
      [id, organizationId, attempt.at, attempt.statusCode, attempt.durationMs, attempt.error],
      'insert_webhook_attempt',
    );
    tx.deferStatement(
      `UPDATE webhook_delivery
       SET status = $2, tries = $3, due_at = COALESCE($4, due_at), lease_id = NULL, leased_until = NULL WHERE id = $1`,
      [id, delivery.status, tries, 'dueAt' in delivery ? delivery.dueAt : null],
      'settle_webhook_delivery',
    );
    if (decision.failingSince?.getTime() !== failingSince?.getTime()) {
      tx.deferStatement(
        `UPDATE webhook_endpoint SET failing_since = CASE WHEN $2::timestamptz IS NOT NULL THEN COALESCE(failing_since, $2) END
         WHERE id = $1`,
        [endpointId, decision.failingSince],
        'webhook_endpoint_failing',
      );
    }
    if (decision.turnOff) await disableEndpoint(tx, claimed, { reason: decision.turnOff, now });
    // A crash can lose this commit; then the delivery is sent again.
    else tx.allowUnflushedCommit();
    return decision;
  });
}

/** Turns an endpoint off and audits it. `url` is null if it must not appear in the audit log. */
export async function disableEndpoint(
  tx: Transaction,
  { endpointId, organizationId, url }: { endpointId: string; organizationId: string; url: string | null },
  { reason, now }: { reason: NonNullable<AttemptDecision['turnOff']>; now: Date },
): Promise<void> {
  const [turned] = await tx.query<Pick<WebhookEndpointEntity, 'name'>>(
    `UPDATE webhook_endpoint
     SET enabled = false, turned_off_reason = $2, turned_off_at = $3, version = version + 1, updated_at = muster_now()
     WHERE id = $1 AND enabled RETURNING name`,
    [endpointId, reason, now],
  );
  if (!turned) return;
  const type = turned.name === null ? 'webhook_endpoint' : 'notification_channel';
  const actor = { kind: 'system', id: 'webhooks', organizationId } as const;
  audit(tx, actor, {
    action: `${type}.turn_off`,
    target: { type, id: endpointId },
    changes: { enabled: [true, false], reason, ...(url && { url: removeUrlQuery(url) }) },
  });
}

/** Releases the lease without counting an attempt. */
export async function releaseDelivery(database: Database, { id, leaseId }: ClaimedDelivery): Promise<void> {
  await database.query(
    'system',
    'UPDATE webhook_delivery SET lease_id = NULL, leased_until = NULL WHERE id = $1 AND lease_id = $2',
    [id, leaseId],
  );
}
