import { AppError, type DeliveryStatus, type WebhookType } from '@muster/contracts';
import {
  type Database,
  scanRowsSql,
  type WebhookAttemptEntity,
  type WebhookDeliveryEntity,
  type WebhookEventEntity,
} from '@muster/database';
import type { Page } from '@muster/platform';
import { findEndpoint } from '../endpoints/endpoint-row';

type AttemptRow = Pick<WebhookAttemptEntity, 'statusCode' | 'durationMs' | 'error'> & { at: string };

export interface DeliveryRow extends Pick<WebhookDeliveryEntity, 'id' | 'type' | 'createdAt'> {
  status: DeliveryStatus;
  /** Time of the next attempt; null if the delivery is finished or its endpoint is off. */
  nextAttemptAt: Date | null;
  attempts: AttemptRow[];
}

/** Maximum number of attempts that are shown; the newest ones. */
const maxAttempts = 100;

const columns = `d.id, d.type, d.status, d.created_at,
  CASE WHEN d.status = 'pending' AND (w.enabled OR d.asked) THEN d.due_at END AS next_attempt_at,
  (SELECT COALESCE(jsonb_agg(jsonb_build_object(
     'at', to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'statusCode', a.status_code,
     'durationMs', a.duration_ms, 'error', a.error) ORDER BY a.number), '[]')
   FROM (SELECT * FROM webhook_attempt WHERE delivery_id = d.id ORDER BY number DESC LIMIT ${maxAttempts}) a) AS attempts`;

/** Lists deliveries, newest first: ids are ordered by creation time. */
export async function listDeliveries(
  database: Database,
  organizationId: string,
  { endpointId, page, filter }: { endpointId: string; page: Page; filter: DeliveryFilter },
): Promise<DeliveryRow[]> {
  await findEndpoint(database, organizationId, endpointId);
  const values: unknown[] = [organizationId, endpointId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1', 'endpoint_id = $2'];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}::uuid`);
  const filters: string[] = [];
  if (filter.status) filters.push(`status = ${addParameter(filter.status)}`);
  if (filter.type) filters.push(`type = ${addParameter(filter.type)}`);
  const limit = addParameter(page.limit + 1);
  const from = 'webhook_delivery';
  const listed = scanRowsSql({ from, columns: 'id', within, filter: filters, order: 'id DESC', limit });
  return database.query<DeliveryRow>(
    { organizationId },
    `SELECT ${columns}, p.matches, p.scan_end FROM (${listed}) p
     JOIN webhook_delivery d ON d.id = p.id JOIN webhook_endpoint w ON w.id = d.endpoint_id ORDER BY d.id DESC`,
    values,
  );
}

export interface DeliveryFilter {
  status?: DeliveryStatus;
  type?: WebhookType;
}

/** Returns a delivery with the body that was sent. */
export async function findDelivery(
  database: Database,
  organizationId: string,
  { endpointId, deliveryId }: { endpointId: string; deliveryId: string },
): Promise<DeliveryRow & { body: NonNullable<WebhookEventEntity['body']> }> {
  const [row] = await database.query<DeliveryRow & { body: string }>(
    { organizationId },
    `SELECT ${columns}, e.body FROM webhook_delivery d
     JOIN webhook_endpoint w ON w.id = d.endpoint_id JOIN webhook_event e ON e.id = d.event_id
     WHERE d.id = $1 AND d.endpoint_id = $2 AND d.organization_id = $3 AND w.name IS NULL`,
    [deliveryId, endpointId, organizationId],
  );
  if (!row) throw deliveryNotFoundError();
  return row;
}

export function deliveryNotFoundError(): AppError {
  return new AppError('not_found', {
    detail: 'The webhook endpoint has no delivery with this id. List its deliveries to find the id.',
  });
}
