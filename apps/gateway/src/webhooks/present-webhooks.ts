import type { WebhookDelivery, WebhookEndpoint } from '@muster/contracts';
import type { DeliveryRow, EndpointRow } from '@muster/webhooks';

export function presentEndpoint(row: EndpointRow): WebhookEndpoint {
  const { id, url, events, description, enabled, turnedOffReason } = row;
  return {
    ...{ id, url, events, description, enabled, turnedOffReason },
    turnedOffAt: row.turnedOffAt?.toISOString() ?? null,
    failingSince: row.failingSince?.toISOString() ?? null,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentDelivery({
  id,
  type,
  status,
  attempts,
  nextAttemptAt,
  createdAt,
}: DeliveryRow): WebhookDelivery {
  return {
    ...{ id, type, status, attempts },
    nextAttemptAt: nextAttemptAt?.toISOString() ?? null,
    createdAt: createdAt.toISOString(),
  };
}
