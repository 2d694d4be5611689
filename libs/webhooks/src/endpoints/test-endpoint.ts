import { audit, type Principal } from '@muster/access';
import type { Transaction, WebhookEventEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { lockEndpoint } from './endpoint-row';

/** A fact of the endpoint itself, for it alone, whatever it listens to and though it be off. Answers its delivery's id. */
export async function testEndpoint(tx: Transaction, caller: Principal, id: string, now: Date): Promise<string> {
  const { organizationId } = caller;
  await lockEndpoint(tx, organizationId, id);
  const [last] = await tx.query<Pick<WebhookEventEntity, 'sequence'>>(
    'SELECT sequence FROM webhook_event WHERE subject_id = $1 ORDER BY sequence DESC LIMIT 1',
    [id],
  );
  const sequence = Math.max(now.getTime(), 1 + (last?.sequence ?? 0));
  const data = { id, message: 'This is a test of your webhook endpoint.', sequence };
  const eventId = newId();
  tx.defer(
    `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
     VALUES ($1, $2, 'webhook.test', $3, $4, $5, now())`,
    [
      eventId,
      organizationId,
      id,
      sequence,
      JSON.stringify({ type: 'webhook.test', timestamp: now.toISOString(), data }),
    ],
  );
  const deliveryId = newId();
  tx.defer(
    `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, asked, due_at)
     VALUES ($1, $2, $3, $4, 'webhook.test', true, $5)`,
    [deliveryId, organizationId, id, eventId, now],
  );
  audit(tx, caller, { action: 'webhook_endpoint.test', target: { type: 'webhook_endpoint', id } });
  await tx.enqueue({ queue: 'webhooks', name: 'send-due', payload: { endpointId: id } });
  return deliveryId;
}
