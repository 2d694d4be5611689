import type { Database, WebhookDeliveryEntity } from '@muster/database';
import { decideAfterMessageAttempt, type MessageDecision } from '../deliveries/decide-after-attempt';
import { disableEndpoint } from '../deliveries/record-attempt';
import type { ClaimedMessage } from './claim-message';
import type { SentMessage } from './send-mail';

interface MessageAttempt {
  sent: SentMessage;
  at: Date;
  durationMs: number;
}

/**
 * Records the result of sending a message for each of its deliveries, also for those that were marked as unclear in the
 * meantime. Returns the decision for the first delivery; null if the channel or the deliveries were deleted.
 */
export function recordMessageAttempt(
  database: Database,
  claimed: ClaimedMessage,
  { sent, at, durationMs }: MessageAttempt,
  { now, chance }: { now: Date; chance: number },
): Promise<MessageDecision | null> {
  const { organizationId, endpointId, leaseId } = claimed;
  return database.transaction('system', async (tx) => {
    const [channel] = await tx.query<{ failingSince: Date | null }>(
      'SELECT failing_since FROM webhook_endpoint WHERE id = $1 FOR NO KEY UPDATE',
      [endpointId],
      'lock_channel_of_message',
    );
    const deliveries = await tx.query<Pick<WebhookDeliveryEntity, 'id' | 'tries'>>(
      `SELECT id, tries FROM webhook_delivery WHERE endpoint_id = $1 AND lease_id = $2 AND status IN ('sending', 'unclear')
       ORDER BY id FOR UPDATE`,
      [endpointId, leaseId],
      'lock_message',
    );
    if (!channel || deliveries.length === 0) return null;
    const { failingSince } = channel;
    const decisions = deliveries.map(({ tries }) =>
      decideAfterMessageAttempt({ ...sent, tries: tries + 1, failingSince }, now, chance),
    );
    const ids = deliveries.map(({ id }) => id);
    tx.deferStatement(
      `INSERT INTO webhook_attempt (delivery_id, number, organization_id, at, status_code, duration_ms, error)
       SELECT d.id, 1 + COALESCE((SELECT max(number) FROM webhook_attempt a WHERE a.delivery_id = d.id), 0), $2, $3, $4, $5, $6
       FROM unnest($1::uuid[]) AS d (id)`,
      [ids, organizationId, at, sent.statusCode, durationMs, sent.error],
      'insert_message_attempts',
    );
    tx.deferStatement(
      `UPDATE webhook_delivery d
       SET status = e.status, tries = d.tries + 1, due_at = COALESCE(e.due_at, d.due_at), lease_id = NULL,
         leased_until = NULL, sent_at = CASE WHEN e.status = 'pending' THEN NULL ELSE d.sent_at END
       FROM unnest($1::uuid[], $2::text[], $3::timestamptz[]) AS e (id, status, due_at) WHERE d.id = e.id`,
      [
        ids,
        decisions.map(({ delivery }) => delivery.status),
        decisions.map(({ delivery }) => ('dueAt' in delivery ? delivery.dueAt : null)),
      ],
      'settle_message',
    );
    const decision = decisions[0]!;
    if (decision.failingSince?.getTime() !== failingSince?.getTime()) {
      tx.deferStatement('UPDATE webhook_endpoint SET failing_since = $2 WHERE id = $1', [
        endpointId,
        decision.failingSince,
      ]);
    }
    if (decision.turnOff) await disableEndpoint(tx, { ...claimed, url: null }, { reason: decision.turnOff, now });
    return decision;
  });
}
