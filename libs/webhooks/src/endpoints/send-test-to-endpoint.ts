import { audit, type Principal } from '@muster/access';
import type { Transaction, WebhookEventEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { lockEndpoint } from './endpoint-row';

/** Sends a test event to this endpoint only, even if it is off or wants other events. Returns the delivery’s id. */
export async function sendTestToEndpoint(tx: Transaction, caller: Principal, id: string, now: Date): Promise<string> {
  const { organizationId } = caller;
  await lockEndpoint(tx, organizationId, id);
  const message = 'This is a test of your webhook endpoint.';
  const [deliveryId] = await enqueueTestEvent(tx, { organizationId, endpointId: id, recipients: [''], message, now });
  audit(tx, caller, { action: 'webhook_endpoint.test', target: { type: 'webhook_endpoint', id } });
  return deliveryId!;
}

/** Creates a test event and a delivery of it for each recipient. Returns the ids of the deliveries. */
export async function enqueueTestEvent(
  tx: Transaction,
  { organizationId, endpointId: id, recipients, message, now }: TestParts,
): Promise<string[]> {
  const [last] = await tx.query<Pick<WebhookEventEntity, 'sequence'>>(
    'SELECT sequence FROM webhook_event WHERE subject_id = $1 ORDER BY sequence DESC LIMIT 1',
    [id],
  );
  const sequence = Math.max(now.getTime(), 1 + (last?.sequence ?? 0));
  const data = { id, message, sequence };
  const eventId = newId();
  tx.deferStatement(
    `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
     VALUES ($1, $2, 'webhook.test', $3, $4, $5, muster_now())`,
    [
      eventId,
      organizationId,
      id,
      sequence,
      JSON.stringify({ type: 'webhook.test', timestamp: now.toISOString(), data }),
    ],
  );
  const deliveryIds = recipients.map(() => newId());
  tx.deferStatement(
    `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, asked, due_at, recipient)
     SELECT d.id, $3, $4, $5, 'webhook.test', true, $6, d.recipient FROM unnest($1::uuid[], $2::text[]) AS d (id, recipient)`,
    [deliveryIds, recipients, organizationId, id, eventId, now],
  );
  await tx.enqueue({ queue: 'webhooks', name: 'send-due', payload: { endpointId: id } });
  return deliveryIds;
}

interface TestParts {
  organizationId: string;
  endpointId: string;
  /** Addresses of an e-mail channel; one empty string for other endpoints. */
  recipients: string[];
  message: string;
  now: Date;
}
