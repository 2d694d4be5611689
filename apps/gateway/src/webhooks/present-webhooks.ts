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
  const { id, name, kind, recipients, url, events, filter, enabled, turnedOffReason, lastAttempt, lastTest } = row;
  return {
    ...{ id, name, kind, events, filter, enabled, turnedOffReason },
    target: kind === 'email' ? { to: recipients } : usesSecretUrl(kind) ? { host: new URL(url!).host } : { url: url! },
    turnedOffAt: row.turnedOffAt?.toISOString() ?? null,
    failingSince: row.failingSince?.toISOString() ?? null,
    lastAttempt,
    lastTest,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}
