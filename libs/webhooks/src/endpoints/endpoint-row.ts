import { notFoundError } from '@muster/contracts';
import { type Database, containsIgnoringCaseSql, type Transaction, type WebhookEndpointEntity } from '@muster/database';
import type { Page } from '@muster/platform';

/** A webhook endpoint. Rows with a name are notification channels, which have their own routes. */
export type EndpointRow = Omit<WebhookEndpointEntity, 'url' | 'kind' | 'name' | 'recipients' | 'filter'> & {
  url: string;
};

const select = `SELECT id, organization_id, url, events, description, enabled, turned_off_reason, turned_off_at,
  failing_since, version, created_at, updated_at FROM webhook_endpoint`;

export async function findEndpoint(database: Database, organizationId: string, id: string): Promise<EndpointRow> {
  const [row] = await database.query<EndpointRow>(
    { organizationId },
    `${select} WHERE id = $1 AND organization_id = $2 AND name IS NULL`,
    [id, organizationId],
    'find_webhook_endpoint',
  );
  if (!row) throw notFoundError('webhook endpoint');
  return row;
}

export async function lockEndpoint(tx: Transaction, organizationId: string, id: string): Promise<EndpointRow> {
  const [row] = await tx.query<EndpointRow>(
    `${select} WHERE id = $1 AND organization_id = $2 AND name IS NULL FOR UPDATE`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('webhook endpoint');
  return row;
}

/** Lists endpoints, oldest first: ids are ordered by creation time. */
export function listEndpoints(
  database: Database,
  organizationId: string,
  { page, q }: { page: Page; q?: string | undefined },
): Promise<EndpointRow[]> {
  return database.query<EndpointRow>(
    { organizationId },
    `${select} WHERE organization_id = $1 AND name IS NULL AND ($2::uuid IS NULL OR id > $2)
       AND ($4::text IS NULL OR ${containsIgnoringCaseSql("concat_ws(' ', url, description)", '$4')})
     ORDER BY id LIMIT $3`,
    [organizationId, page.after?.[0] ?? null, page.limit + 1, q ?? null],
    'list_webhook_endpoints',
  );
}
