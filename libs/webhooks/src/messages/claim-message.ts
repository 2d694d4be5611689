import type { ChannelKind } from '@muster/contracts';
import type { Database, Transaction, WebhookDeliveryEntity, WebhookEndpointEntity } from '@muster/database';
import { newId } from '@muster/platform';
import type { SealedSecret } from '../deliveries/claim-delivery';

type Channel = Pick<WebhookEndpointEntity, 'id' | 'organizationId' | 'enabled' | 'failingSince'> & {
  name: string;
  kind: ChannelKind;
  secrets: SealedSecret[] | null;
};

/** A message that only this process sends. It is marked as being sent, so it is not resent even if the process ends. */
export interface ClaimedMessage extends Omit<Channel, 'enabled' | 'id' | 'secrets'> {
  /** Id of the message’s oldest delivery. */
  id: string;
  endpointId: string;
  recipient: string;
  leaseId: string;
  /** Sealed URL of a Slack or Teams channel. */
  secrets: SealedSecret[];
  /** The oldest events, up to `maxDescribed`; the message describes these. */
  events: ClaimedEvent[];
  /** Number of deliveries that the message is about. */
  count: number;
}

type ClaimedEvent = Pick<WebhookDeliveryEntity, 'id' | 'type' | 'eventId'> & { subjectId: string; body: string };

/**
 * Lease duration in ms; longer than an attempt takes. A message that is still marked as being sent after this time may
 * have arrived.
 */
const leaseMs = 300_000;
/** Minimum time between two messages; deliveries that become due in between are collected in the next one. */
const minIntervalMs = 60_000;
const maxPerMessage = 1000;
const maxDescribed = 20;

/**
 * Claims the due deliveries of one recipient of the channel as one message. Returns `later` if the recipient’s last
 * message is too recent, and `webhook` if the endpoint is not a channel for people.
 */
export function claimMessage(
  database: Database,
  endpointId: string,
  now: Date,
): Promise<ClaimedMessage | 'later' | 'webhook' | undefined> {
  // This commit waits for the disk, so that the mark survives a crash and the message is sent at most once.
  return database.transaction('system', async (tx) => {
    const channel = await lockChannelForSending(tx, endpointId);
    if (!channel) return undefined;
    if (channel.kind === 'webhook') return 'webhook';
    const [first] = await tx.query<Pick<WebhookDeliveryEntity, 'recipient' | 'asked'>>(
      `SELECT recipient, asked FROM webhook_delivery
       WHERE endpoint_id = $1 AND status = 'pending' AND due_at <= $2 AND (asked OR $3)
       ORDER BY due_at, id LIMIT 1`,
      [endpointId, now, channel.enabled],
      'next_message',
    );
    if (!first) return undefined;
    const { recipient, asked: isRequested } = first;
    if (!isRequested && (await postponeMessage(tx, { endpointId, recipient, now }))) return 'later';
    const leaseId = newId();
    const claimed = await tx.query<ClaimedEvent & { ordinal: number }>(
      `WITH next AS (
         SELECT id, row_number() OVER (ORDER BY id) AS ordinal FROM webhook_delivery
         WHERE endpoint_id = $1 AND recipient = $2 AND asked = $3 AND status = 'pending' AND due_at <= $4
         ORDER BY id LIMIT $5)
       UPDATE webhook_delivery d
       SET status = 'sending', sent_at = $4, lease_id = $6, leased_until = $4 + $7 * interval '1 millisecond'
       FROM next, webhook_event e WHERE d.id = next.id AND e.id = d.event_id
       RETURNING d.id, d.type, d.event_id, e.subject_id, next.ordinal::int,
         CASE WHEN next.ordinal <= $8 THEN e.body ELSE '' END AS body`,
      [endpointId, recipient, isRequested, now, isRequested ? 1 : maxPerMessage, leaseId, leaseMs, maxDescribed],
      'claim_message',
    );
    claimed.sort((one, other) => one.ordinal - other.ordinal);
    const { organizationId, name, kind, failingSince, secrets } = channel;
    return {
      ...{ id: claimed[0]!.id, endpointId, organizationId, name, kind, failingSince, recipient, leaseId },
      secrets: secrets ?? [],
      events: claimed.slice(0, maxDescribed),
      count: claimed.length,
    };
  });
}

/** Locks the channel, so that two processes cannot both send the first message of a minute. */
async function lockChannelForSending(tx: Transaction, endpointId: string): Promise<Channel | undefined> {
  const [channel] = await tx.query<Channel>(
    `SELECT w.id, w.organization_id, w.name, w.kind, w.enabled, w.failing_since, (
       SELECT jsonb_agg(jsonb_build_object('id', s.id, 'masterKeyId', s.master_key_id,
         'wrappedKey', encode(s.wrapped_key, 'base64'), 'sealed', encode(s.sealed, 'base64')))
       FROM webhook_secret s WHERE s.endpoint_id = w.id) AS secrets
     FROM webhook_endpoint w WHERE w.id = $1 FOR NO KEY UPDATE OF w`,
    [endpointId],
    'lock_channel',
  );
  return channel;
}

async function postponeMessage(
  tx: Transaction,
  { endpointId, recipient, now }: { endpointId: string; recipient: string; now: Date },
): Promise<boolean> {
  const [last] = await tx.query<{ at: Date | null }>(
    `SELECT max(sent_at) AS at FROM webhook_delivery
     WHERE endpoint_id = $1 AND recipient = $2 AND NOT asked AND sent_at > $3::timestamptz - $4 * interval '1 millisecond'`,
    [endpointId, recipient, now, minIntervalMs],
    'last_message',
  );
  if (!last?.at) return false;
  await tx.execute(
    `UPDATE webhook_delivery SET due_at = $4
     WHERE endpoint_id = $1 AND recipient = $2 AND NOT asked AND status = 'pending' AND due_at <= $3`,
    [endpointId, recipient, now, new Date(last.at.getTime() + minIntervalMs)],
    'postpone_messages',
  );
  return true;
}

/**
 * Marks messages as unclear if the process that was sending them has ended. They may have arrived, so they are not
 * resent.
 */
export async function endUnclearMessages(database: Database, now: Date): Promise<number> {
  const rows = await database.query(
    'system',
    `WITH lost AS (
       UPDATE webhook_delivery SET status = 'unclear', leased_until = NULL
       WHERE id IN (SELECT id FROM webhook_delivery WHERE status = 'sending' AND leased_until < $1
                    ORDER BY leased_until LIMIT 1000 FOR UPDATE SKIP LOCKED)
       RETURNING id, organization_id, sent_at)
     INSERT INTO webhook_attempt (delivery_id, number, organization_id, at, status_code, duration_ms, error)
     SELECT id, 1 + COALESCE((SELECT max(number) FROM webhook_attempt a WHERE a.delivery_id = lost.id), 0),
       organization_id, sent_at, NULL, 0, 'the service stopped while sending; it is unknown whether the message arrived'
     FROM lost RETURNING delivery_id`,
    [now],
    'end_unclear_messages',
  );
  return rows.length;
}
