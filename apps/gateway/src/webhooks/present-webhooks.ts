import type { NotificationChannel, WebhookDelivery, WebhookEndpoint } from '@muster/contracts';
import { type ChannelRow, type DeliveryRow, type EndpointRow, usesSecretUrl } from '@muster/webhooks';

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

/** The URL of a Slack or Teams channel is a secret, so only its host is returned. */
export function presentChannel(row: ChannelRow): NotificationChannel {
  const { id, name, kind, recipients, url, events, filter, enabled, turnedOffReason, lastAttempt } = row;
  const isSecret = usesSecretUrl(kind);
  return {
    ...{ id, name, kind, recipients, events, filter, enabled, turnedOffReason },
    host: isSecret && url ? new URL(url).host : null,
    url: isSecret ? null : url,
    turnedOffAt: row.turnedOffAt?.toISOString() ?? null,
    failingSince: row.failingSince?.toISOString() ?? null,
    lastAttempt,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
