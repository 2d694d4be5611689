import { audit, type Principal } from '@muster/access';
import type { Transaction } from '@muster/database';
import { deliveryNotFoundError } from './read-deliveries';

/** Sends a delivery again at once, with all its attempts and the same id, whatever its status is. */
export async function redeliverEvent(
  tx: Transaction,
  caller: Principal,
  { endpointId, deliveryId, now }: { endpointId: string; deliveryId: string; now: Date },
): Promise<void> {
  const { organizationId } = caller;
  const touched = await tx.execute(
    `UPDATE webhook_delivery
     SET status = 'pending', tries = 0, asked = true, due_at = $4, lease_id = NULL, leased_until = NULL
     WHERE id = $1 AND organization_id = $3
       AND endpoint_id = (SELECT id FROM webhook_endpoint WHERE id = $2 AND name IS NULL)`,
    [deliveryId, endpointId, organizationId, now],
  );
  if (touched === 0) throw deliveryNotFoundError();
  audit(tx, caller, {
    action: 'webhook_delivery.redeliver',
    target: { type: 'webhook_delivery', id: deliveryId },
    changes: { endpointId },
  });
  await tx.enqueue({ queue: 'webhooks', name: 'send-due', payload: { endpointId } });
}
