import { audit, listChangedFields, type Principal } from '@muster/access';
import {
  AppError,
  type CreateWebhookEndpointBody,
  invalidFieldError,
  type UpdateWebhookEndpointBody,
} from '@muster/contracts';
import { acquireAdvisoryLock, type Transaction } from '@muster/database';
import { toEtag, newId, type Outbound, OutboundRefused, requireEtagMatch } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { type EndpointRow, lockEndpoint } from './endpoint-row';
import { insertSealedSecret } from './seal-secret';
import { removeUrlQuery } from './remove-url-query';

const maxEndpoints = 20;
/** Hours for which the previous secrets stay valid after a rotation. */
const overlapHours = 24;
/** Maximum number of valid secrets; each adds a signature to every delivery. */
const maxSecrets = 5;

/** Throws if the guard for outbound calls refuses the URL. A host name that cannot be resolved yet is accepted. */
export async function requireCallableUrl(outbound: Outbound, url: string | undefined, field = 'url'): Promise<void> {
  if (url === undefined) return;
  try {
    await outbound.checkAddress(url);
  } catch (error) {
    if (!(error instanceof OutboundRefused)) throw error;
    if (error.cause !== undefined) return;
    throw invalidFieldError(field, `${field} cannot be called: ${error.message}`);
  }
}

export async function createEndpoint(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { url, events, description = null, enabled = true }: CreateWebhookEndpointBody,
): Promise<{ row: EndpointRow; secret: string }> {
  const { organizationId } = caller;
  await requireEndpointCapacity(tx, organizationId);
  const id = newId();
  tx.deferStatement(
    `INSERT INTO webhook_endpoint (id, organization_id, url, events, description, enabled)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [id, organizationId, url, events, description, enabled],
  );
  const secret = insertSealedSecret(tx, keyRing, { organizationId, endpointId: id });
  audit(tx, caller, {
    action: 'webhook_endpoint.create',
    target: { type: 'webhook_endpoint', id },
    changes: { url: removeUrlQuery(url), events, description, enabled },
  });
  return { row: await lockEndpoint(tx, organizationId, id), secret };
}

export async function updateEndpoint(
  tx: Transaction,
  caller: Principal,
  id: string,
  { change, ifMatch }: { change: UpdateWebhookEndpointBody; ifMatch?: string },
): Promise<EndpointRow> {
  const { organizationId } = caller;
  const before = await lockEndpoint(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const { url = before.url, events = before.events, enabled = before.enabled } = change;
  const description = change.description === undefined ? before.description : change.description;
  // Turning the endpoint on, or changing its URL, clears its failures.
  const clearsFailures = (enabled && !before.enabled) || url !== before.url;
  tx.deferStatement(
    `UPDATE webhook_endpoint SET url = $3, events = $4, description = $5, enabled = $6,
       turned_off_reason = CASE WHEN $6 THEN NULL ELSE turned_off_reason END,
       turned_off_at = CASE WHEN $6 THEN NULL ELSE turned_off_at END,
       failing_since = CASE WHEN $7 THEN NULL ELSE failing_since END,
       version = version + 1, updated_at = muster_now()
     WHERE id = $1 AND organization_id = $2`,
    [id, organizationId, url, events, description, enabled, clearsFailures],
  );
  audit(tx, caller, {
    action: 'webhook_endpoint.update',
    target: { type: 'webhook_endpoint', id },
    changes: listChangedFields(
      { ...before, url: removeUrlQuery(before.url) },
      { url: removeUrlQuery(url), description, enabled, events },
    ),
  });
  return lockEndpoint(tx, organizationId, id);
}

/** Deletes an endpoint and, by cascade, its deliveries. */
export async function deleteEndpoint(
  tx: Transaction,
  caller: Principal,
  id: string,
  { ifMatch }: { ifMatch?: string },
): Promise<void> {
  const { organizationId } = caller;
  const { version, url } = await lockEndpoint(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(version));
  tx.deferStatement('DELETE FROM webhook_endpoint WHERE id = $1 AND organization_id = $2', [id, organizationId]);
  audit(tx, caller, {
    action: 'webhook_endpoint.delete',
    target: { type: 'webhook_endpoint', id },
    changes: { url: removeUrlQuery(url) },
  });
}

/** Adds a new secret. The previous secrets stay valid for 24 hours, so that the receiver can switch to the new one. */
export async function rotateEndpointSecret(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { id, now }: { id: string; now: Date },
): Promise<{ row: EndpointRow; secret: string }> {
  const { organizationId } = caller;
  await lockEndpoint(tx, organizationId, id);
  await tx.execute('DELETE FROM webhook_secret WHERE endpoint_id = $1 AND expires_at <= $2', [id, now]);
  const secrets = await tx.query('SELECT FROM webhook_secret WHERE endpoint_id = $1', [id]);
  if (secrets.length >= maxSecrets) {
    throw new AppError('conflict', {
      detail: `The endpoint already has ${maxSecrets} valid secrets. Rotate again when the oldest of them has expired.`,
    });
  }
  tx.deferStatement(
    `UPDATE webhook_secret SET expires_at = $2::timestamptz + $3 * interval '1 hour'
     WHERE endpoint_id = $1 AND expires_at IS NULL`,
    [id, now, overlapHours],
  );
  const secret = insertSealedSecret(tx, keyRing, { organizationId, endpointId: id });
  tx.deferStatement('UPDATE webhook_endpoint SET version = version + 1, updated_at = muster_now() WHERE id = $1', [id]);
  audit(tx, caller, { action: 'webhook_endpoint.rotate_secret', target: { type: 'webhook_endpoint', id } });
  return { row: await lockEndpoint(tx, organizationId, id), secret };
}

async function requireEndpointCapacity(tx: Transaction, organizationId: string): Promise<void> {
  await acquireAdvisoryLock(tx, 'webhook endpoints', organizationId);
  const endpoints = await tx.query('SELECT FROM webhook_endpoint WHERE organization_id = $1 AND name IS NULL', [
    organizationId,
  ]);
  if (endpoints.length < maxEndpoints) return;
  throw new AppError('conflict', {
    detail: `An organization can have at most ${maxEndpoints} webhook endpoints. Delete one first.`,
  });
}
