import { audit, listChangedFields, type Principal } from '@muster/access';
import {
  AppError,
  type ChannelKind,
  type ChannelTarget,
  type CreateNotificationChannelBody,
  invalidFieldError,
  type UpdateNotificationChannelBody,
} from '@muster/contracts';
import { acquireAdvisoryLock, type Transaction } from '@muster/database';
import { toEtag, newId, requireEtagMatch } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { insertSealedSecret } from '../endpoints/seal-secret';
import { removeUrlQuery } from '../endpoints/remove-url-query';
import { enqueueTestEvent } from '../endpoints/send-test-to-endpoint';
import { type ChannelRow, lockChannel } from './channel-row';

const maxChannels = 20;

/** Whether the URL of a channel of this kind is a secret, because anyone who knows the URL can post messages. */
export function usesSecretUrl(kind: ChannelKind): boolean {
  return kind === 'slack' || kind === 'teams';
}

export async function createChannel(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { name, kind, events, filter = null, enabled = true, target }: CreateNotificationChannelBody,
): Promise<{ row: ChannelRow; secret: string | null }> {
  const { organizationId } = caller;
  requireValidTarget(kind, target);
  if (kind === 'email' ? !target.to?.length : !target.url) {
    const field = kind === 'email' ? 'target.to' : 'target.url';
    throw invalidFieldError(field, `${field} is required`, `A channel of the kind ${kind} needs ${field}.`);
  }
  await requireChannelCapacity(tx, organizationId);
  const id = newId();
  const recipients = toUniqueAddresses(target.to ?? []);
  const url = toStoredUrl(kind, target.url);
  tx.deferStatement(
    `INSERT INTO webhook_endpoint (id, organization_id, name, kind, url, recipients, events, filter, enabled)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [id, organizationId, name, kind, url, recipients, events, filter && JSON.stringify(filter), enabled],
  );
  const owner = { organizationId, endpointId: id };
  if (usesSecretUrl(kind)) insertSealedSecret(tx, keyRing, owner, target.url);
  const secret = kind === 'webhook' ? insertSealedSecret(tx, keyRing, owner) : null;
  audit(tx, caller, {
    action: 'notification_channel.create',
    target: { type: 'notification_channel', id },
    changes: { name, kind, target: describeChannelTarget({ url, recipients }), events, filter, enabled },
  });
  return { row: await lockChannel(tx, organizationId, id), secret };
}

export async function updateChannel(
  tx: Transaction,
  keyRing: KeyRing,
  caller: Principal,
  { id, change, ifMatch }: { id: string; change: UpdateNotificationChannelBody; ifMatch?: string },
): Promise<ChannelRow> {
  const { organizationId } = caller;
  const before = await lockChannel(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(before.version));
  const { kind } = before;
  const { target = {} } = change;
  requireValidTarget(kind, target);
  const { name = before.name, events = before.events, enabled = before.enabled } = change;
  const filter = change.filter === undefined ? before.filter : change.filter;
  const recipients = target.to ? toUniqueAddresses(target.to) : before.recipients;
  if (kind === 'email' && recipients.length === 0) {
    throw invalidFieldError('target.to', 'target.to is required', 'A channel of the kind email needs target.to.');
  }
  const url = target.url === undefined ? before.url : toStoredUrl(kind, target.url);
  // Turning the channel on, or changing its target, clears its failures.
  const clearsFailures = (enabled && !before.enabled) || target.url !== undefined || target.to !== undefined;
  tx.deferStatement(
    `UPDATE webhook_endpoint SET name = $3, url = $4, recipients = $5, events = $6, filter = $7, enabled = $8,
       turned_off_reason = CASE WHEN $8 THEN NULL ELSE turned_off_reason END,
       turned_off_at = CASE WHEN $8 THEN NULL ELSE turned_off_at END,
       failing_since = CASE WHEN $9 THEN NULL ELSE failing_since END,
       version = version + 1, updated_at = muster_now()
     WHERE id = $1 AND organization_id = $2`,
    [id, organizationId, name, url, recipients, events, filter && JSON.stringify(filter), enabled, clearsFailures],
  );
  if (usesSecretUrl(kind) && target.url !== undefined) {
    tx.deferStatement('DELETE FROM webhook_secret WHERE endpoint_id = $1', [id]);
    insertSealedSecret(tx, keyRing, { organizationId, endpointId: id }, target.url);
  }
  audit(tx, caller, {
    action: 'notification_channel.update',
    target: { type: 'notification_channel', id },
    changes: listChangedFields(
      { ...before, target: describeChannelTarget(before) },
      { name, target: describeChannelTarget({ url, recipients }), events, filter, enabled },
    ),
  });
  return lockChannel(tx, organizationId, id);
}

/** Deletes a channel and, by cascade, its deliveries. */
export async function deleteChannel(
  tx: Transaction,
  caller: Principal,
  id: string,
  { ifMatch }: { ifMatch?: string },
): Promise<void> {
  const { organizationId } = caller;
  const { version, name } = await lockChannel(tx, organizationId, id);
  requireEtagMatch(ifMatch, toEtag(version));
  tx.deferStatement('DELETE FROM webhook_endpoint WHERE id = $1 AND organization_id = $2', [id, organizationId]);
  audit(tx, caller, {
    action: 'notification_channel.delete',
    target: { type: 'notification_channel', id },
    changes: { name },
  });
}

/**
 * Sends a test message to each recipient, even if the channel is off or filters the event out. Returns the number of
 * messages.
 */
export async function sendTestToChannel(tx: Transaction, caller: Principal, id: string, now: Date): Promise<number> {
  const { organizationId } = caller;
  const { kind, name, recipients } = await lockChannel(tx, organizationId, id);
  const sent = await enqueueTestEvent(tx, {
    ...{ organizationId, endpointId: id, now },
    recipients: kind === 'email' ? recipients : [''],
    message: `This is a test of the notification channel ${name}.`,
  });
  audit(tx, caller, { action: 'notification_channel.test', target: { type: 'notification_channel', id } });
  return sent.length;
}

/** Throws if the request has a target that does not apply to the kind. */
function requireValidTarget(kind: ChannelKind, { url, to }: ChannelTarget): void {
  if (kind === 'email' && url !== undefined) {
    const message = 'target.url is not allowed for the kind email';
    throw invalidFieldError(
      'target.url',
      message,
      'A channel of the kind email has no target.url. Send target.to instead.',
    );
  }
  if (kind !== 'email' && to?.length) {
    const message = 'target.to is allowed only if kind is email';
    throw invalidFieldError(
      'target.to',
      message,
      `A channel of the kind ${kind} has no target.to. Send target.url instead.`,
    );
  }
}

/** Returns the target for the audit log, without the parts of the URL that may be secret. */
function describeChannelTarget({ url, recipients }: Pick<ChannelRow, 'url' | 'recipients'>): ChannelTarget {
  return url === null ? { to: recipients } : { url: removeUrlQuery(url) };
}

function toUniqueAddresses(recipients: string[]): string[] {
  const addresses = recipients.map((each) => each.trim().toLowerCase());
  const wrong = addresses.findIndex(
    (each) => !/^[^\s@<>,;:"()[\]\\]+@[^\s@<>,;:"()[\]\\]+\.[^\s@<>,;:"()[\]\\]+$/.test(each),
  );
  if (wrong >= 0) {
    throw invalidFieldError(
      `target.to.${wrong}`,
      'must be an e-mail address',
      'Each recipient must be an e-mail address.',
    );
  }
  return [...new Set(addresses)];
}

function toStoredUrl(kind: ChannelKind, url: string | undefined): string | null {
  if (url === undefined) return null;
  return usesSecretUrl(kind) ? new URL(url).origin : url;
}

async function requireChannelCapacity(tx: Transaction, organizationId: string): Promise<void> {
  await acquireAdvisoryLock(tx, 'webhook endpoints', organizationId);
  const channels = await tx.query('SELECT FROM webhook_endpoint WHERE organization_id = $1 AND name IS NOT NULL', [
    organizationId,
  ]);
  if (channels.length < maxChannels) return;
  throw new AppError('conflict', {
    detail: `An organization can have at most ${maxChannels} notification channels. Delete one first.`,
  });
}
