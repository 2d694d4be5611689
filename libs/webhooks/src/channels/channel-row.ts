import { notFoundError } from '@muster/contracts';
import {
  type Database,
  containsIgnoringCaseSql,
  type Transaction,
  type WebhookAttemptEntity,
  type WebhookDeliveryEntity,
  type WebhookEndpointEntity,
} from '@muster/database';
import type { Page } from '@muster/platform';

type LastAttempt = Pick<WebhookAttemptEntity, 'statusCode' | 'error'> &
  Pick<WebhookDeliveryEntity, 'status'> & { at: string };

interface LastTest {
  at: string;
  results: (Pick<LastAttempt, 'statusCode' | 'error' | 'status'> & { recipient: string | null })[];
}

/** A channel as the API shows it. */
export type ChannelRow = Omit<WebhookEndpointEntity, 'name' | 'description'> & {
  name: string;
  lastAttempt: LastAttempt | null;
  lastTest: LastTest | null;
};

const columns = `w.id, w.organization_id, w.name, w.kind, w.url, w.recipients, w.filter, w.events, w.enabled,
  w.turned_off_reason, w.turned_off_at, w.failing_since, w.version, w.created_at, w.updated_at`;
/** The newest attempt among the last 100 deliveries of a channel. */
const lastAttempt = `(
  SELECT jsonb_build_object('at', to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'status', d.status,
    'statusCode', a.status_code, 'error', a.error)
  FROM (SELECT id, status FROM webhook_delivery WHERE endpoint_id = w.id ORDER BY id DESC LIMIT 100) d
  JOIN webhook_attempt a ON a.delivery_id = d.id ORDER BY a.at DESC LIMIT 1) AS last_attempt`;
/** The deliveries of the newest test of a channel, each with its newest attempt. */
const lastTest = `(
  SELECT jsonb_build_object('at', to_char(e.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'results',
    (SELECT jsonb_agg(jsonb_build_object('recipient', NULLIF(d.recipient, ''), 'status', d.status,
       'statusCode', a.status_code, 'error', a.error) ORDER BY d.id)
     FROM webhook_delivery d LEFT JOIN LATERAL (
       SELECT status_code, error FROM webhook_attempt WHERE delivery_id = d.id ORDER BY number DESC LIMIT 1) a ON true
     WHERE d.endpoint_id = w.id AND d.event_id = e.id))
  FROM webhook_event e WHERE e.subject_id = w.id AND e.type = 'webhook.test' ORDER BY e.sequence DESC LIMIT 1) AS last_test`;
const shown = `${columns}, ${lastAttempt}, ${lastTest}`;

export async function findChannel(database: Database, organizationId: string, id: string): Promise<ChannelRow> {
  const [row] = await database.query<ChannelRow>(
    { organizationId },
    `SELECT ${shown} FROM webhook_endpoint w
     WHERE w.id = $1 AND w.organization_id = $2 AND w.name IS NOT NULL`,
    [id, organizationId],
    'find_channel',
  );
  if (!row) throw notFoundError('notification channel');
  return row;
}

export async function lockChannel(tx: Transaction, organizationId: string, id: string): Promise<ChannelRow> {
  const [row] = await tx.query<ChannelRow>(
    `SELECT ${shown} FROM webhook_endpoint w
     WHERE w.id = $1 AND w.organization_id = $2 AND w.name IS NOT NULL FOR UPDATE OF w`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('notification channel');
  return row;
}

/** Lists channels, oldest first: ids are ordered by creation time. */
export function listChannels(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string | undefined },
): Promise<ChannelRow[]> {
  return database.query<ChannelRow>(
    { organizationId },
    `SELECT ${shown} FROM webhook_endpoint w
     WHERE w.organization_id = $1 AND w.name IS NOT NULL AND ($2::uuid IS NULL OR w.id > $2)
       AND ($4::text IS NULL OR ${containsIgnoringCaseSql('w.name', '$4')})
     ORDER BY w.id LIMIT $3`,
    [organizationId, page.after?.[0] ?? null, page.limit + 1, q ?? null],
    'list_channels',
  );
}
