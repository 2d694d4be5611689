import type { SsoLinkEntity, Transaction, UserEntity } from '@muster/database';
import { SsoRefused } from './sso-refused';

/** The account that a provider signs in. */
export type AccountUser = Pick<UserEntity, 'id' | 'organizationId' | 'email' | 'role' | 'disabled'>;

type Provider = Pick<SsoLinkEntity, 'organizationId' | 'issuer' | 'clientId'>;

/** Returns the subject of the claims, which identifies a user of the provider for good. */
export function readSubject({ sub }: Record<string, unknown>): string {
  if (typeof sub === 'string' && sub.length > 0 && sub.length <= 255) return sub;
  throw new SsoRefused('the subject of the ID token is not a text of 1 to 255 characters');
}

/** Locks and returns the account that is linked to the subject; null before the first sign-in. */
export async function lockLinkedUser(
  tx: Transaction,
  { organizationId, issuer, clientId }: Provider,
  subject: string,
): Promise<AccountUser | null> {
  const [user] = await tx.query<AccountUser & object>(
    `SELECT u.id, u.organization_id, u.email, u.role, u.disabled FROM sso_link l JOIN app_user u ON u.id = l.user_id
     WHERE l.organization_id = $1 AND l.issuer = $2 AND l.client_id = $3 AND l.subject = $4 FOR UPDATE OF u`,
    [organizationId, issuer, clientId, subject],
    'lock_linked_user',
  );
  return user ?? null;
}

/**
 * Links the subject to an account whose row is locked. Throws if the account is linked to another subject: the provider
 * has then given the email address to another person.
 */
export async function linkUser(
  tx: Transaction,
  { organizationId, issuer, clientId }: Provider,
  { subject, userId }: { subject: string; userId: string },
): Promise<void> {
  await tx.execute(
    `INSERT INTO sso_link (organization_id, issuer, client_id, subject, user_id) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT DO NOTHING`,
    [organizationId, issuer, clientId, subject, userId],
    'link_user',
  );
  const [link] = await tx.query<Pick<SsoLinkEntity, 'subject'>>(
    'SELECT subject FROM sso_link WHERE user_id = $1 AND issuer = $2 AND client_id = $3',
    [userId, issuer, clientId],
    'read_link',
  );
  if (link?.subject !== subject) throw new SsoRefused('the account is linked to another user of the provider');
}

/** Removes the links of an account, whose address may belong to another person now. */
export async function deleteLinks(tx: Transaction, userId: string): Promise<void> {
  await tx.execute('DELETE FROM sso_link WHERE user_id = $1', [userId]);
}
