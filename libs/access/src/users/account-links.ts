import { AppError } from '@muster/contracts';
import type { AccountLinkEntity, Database, Transaction, UserEntity } from '@muster/database';
import { type Attempts, newId, type RatePolicy } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { revokeKeysOfUser } from '../api-keys/user-keys';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import { equalsInConstantTime, sha256Hex } from '../authentication/credentials';
import type { Passwords } from '../authentication/passwords';
import { deleteSignInAddresses } from '../authentication/sign-in-addresses';
import type { Principal } from '../principal';
import { endOtherSessionsOfUser } from '../second-factor/second-factors';
import { loadGrantableRole, loadRole } from './own-roles';
import { insertUser } from './users';

/** Maximum number of mails per minute to one account whose password was forgotten. */
const mailsPerMinute = 20;

/** Lifetime of an invitation: seven days. */
const invitationMs = 7 * 86_400_000;

const tokenPattern = /^mal_([0-9a-f-]{36})_[A-Za-z0-9_-]{43}$/;

/**
 * The token is derived from the master key ring, so the process that sends the mail can compose the link from the id,
 * and the token is neither stored nor part of a message. The row has its hash.
 */
function deriveLinkTokens(keyRing: KeyRing, id: string): string[] {
  return keyRing.deriveKeys('account-link', id).map((secret) => `mal_${id}_${secret.toString('base64url')}`);
}

/** Returns the token of a stored link; null if the master key that it was derived from has been removed. */
export function findLinkToken(
  keyRing: KeyRing,
  { id, secretHash }: Pick<AccountLinkEntity, 'id' | 'secretHash'>,
): string | null {
  return deriveLinkTokens(keyRing, id).find((token) => equalsInConstantTime(sha256Hex(token), secretHash)) ?? null;
}

export interface ResetParts {
  database: Database;
  keyRing: KeyRing;
  attempts: Attempts;
  lifetimeMs: number;
}

/**
 * Creates the link for an account whose password was forgotten, and enqueues its mail. An unknown address and a
 * disabled account get no link. The caller has its response before this function runs, so that the response time does
 * not reveal whether the account exists.
 */
export async function createResetLink(
  { database, keyRing, attempts, lifetimeMs }: ResetParts,
  typedEmail: string,
): Promise<void> {
  const email = typedEmail.toLowerCase();
  try {
    await attempts.countAttempt({ name: 'reset-mails', limit: mailsPerMinute, windowSeconds: 60 }, [
      `account:${sha256Hex(email)}`,
    ]);
  } catch (error) {
    if (error instanceof AppError && error.code === 'rate_limited') return;
    throw error;
  }
  const [user] = await database.query<Pick<UserEntity, 'id' | 'organizationId' | 'email'>>(
    'system',
    'SELECT id, organization_id, email FROM app_user WHERE email = $1 AND NOT disabled',
    [email],
  );
  if (!user) return;
  const { organizationId } = user;
  await database.transaction({ organizationId }, async (tx) => {
    await insertAccountLink(tx, keyRing, {
      ...{ organizationId, kind: 'reset', userId: user.id, email: user.email, role: null },
      expiresAt: new Date(tx.now.getTime() + lifetimeMs),
    });
    const actor = { kind: 'system', id: 'sign-in', organizationId } as const;
    audit(tx, actor, { action: 'user.forgot_password', target: { type: 'user', id: user.id } });
  });
}

export interface CreatedInvitation {
  id: string;
  email: string;
  role: string;
  token: string;
  expiresAt: Date;
}

/**
 * Invites an address to the caller's organization. If the address has an account in another organization, the response
 * is the same, because the transaction of a tenant does not see that account. Accepting the invitation then fails.
 */
export async function createInvitation(
  tx: Transaction,
  caller: Principal,
  { keyRing, email: typed, role }: { keyRing: KeyRing; email: string; role: string },
): Promise<CreatedInvitation> {
  await loadGrantableRole(tx, caller, role);
  const email = typed.toLowerCase();
  const { organizationId } = caller;
  const own = await tx.query('SELECT 1 FROM app_user WHERE organization_id = $1 AND email = $2', [
    organizationId,
    email,
  ]);
  if (own.length > 0) {
    throw new AppError('conflict', {
      detail:
        'This organization already has a user with this email address. Use another address, or change the existing ' +
        'user.',
      errors: [{ field: 'email', message: 'email is taken' }],
    });
  }
  const expiresAt = new Date(tx.now.getTime() + invitationMs);
  const { id, token } = await insertAccountLink(tx, keyRing, {
    ...{ organizationId, kind: 'invitation', userId: null, email, role, expiresAt },
  });
  audit(tx, caller, { action: 'user.invite', target: { type: 'invitation', id }, changes: { email, role } });
  return { id, email, role, token, expiresAt };
}

async function insertAccountLink(
  tx: Transaction,
  keyRing: KeyRing,
  { organizationId, kind, userId, email, role, expiresAt }: Omit<AccountLinkEntity, 'id' | 'secretHash'>,
): Promise<{ id: string; token: string }> {
  const id = newId();
  const token = deriveLinkTokens(keyRing, id)[0]!;
  await tx.execute(
    `INSERT INTO account_link (id, organization_id, kind, user_id, email, role, secret_hash, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
     ON CONFLICT (organization_id, kind, email) DO UPDATE SET id = excluded.id, user_id = excluded.user_id,
       role = excluded.role, secret_hash = excluded.secret_hash, expires_at = excluded.expires_at`,
    [id, organizationId, kind, userId, email, role, sha256Hex(token), expiresAt],
  );
  await tx.enqueue({ queue: 'webhooks', name: 'send-account-mail', payload: { linkId: id } });
  return { id, token };
}

export interface LinkParts {
  database: Database;
  attempts: Attempts;
  passwords: Passwords;
  /** Maximum number of failures per minute of one address. */
  failures: RatePolicy;
}

interface UsedLink {
  token: string;
  password: string;
  address: string;
}

type FoundLink = Pick<AccountLinkEntity, 'id' | 'organizationId' | 'userId' | 'email' | 'role' | 'secretHash'>;

/**
 * Sets the password of the account, and ends all its sessions. Opens no session, so the person signs in with the new
 * password and the second factor.
 */
export async function resetPassword(parts: LinkParts, used: UsedLink): Promise<void> {
  const { link, passwordHash } = await verifyLinkAndHashPassword(parts, 'reset', used);
  const { organizationId, email } = link;
  const userId = link.userId!;
  await parts.database.transaction({ organizationId }, async (tx) => {
    await consumeAccountLink(tx, link);
    const changed = await tx.execute('UPDATE app_user SET password_hash = $2 WHERE id = $1 AND NOT disabled', [
      userId,
      passwordHash,
    ]);
    if (changed === 0) throw invalidLinkError();
    await endOtherSessionsOfUser(tx, userId);
    await revokeKeysOfUser(tx, { id: userId, organizationId });
    await deleteSignInAddresses(tx, userId);
    await dropCachedPrincipals(tx);
    const actor = { kind: 'user', id: userId, email, organizationId } as const;
    audit(tx, actor, { action: 'user.reset_password', target: { type: 'user', id: userId } });
  });
}

/** Creates the invited account. Returns its address; the person then signs in. */
export async function acceptInvitation(parts: LinkParts, used: UsedLink): Promise<{ email: string }> {
  const { link, passwordHash } = await verifyLinkAndHashPassword(parts, 'invitation', used);
  const { id, organizationId, email, role } = link;
  try {
    await parts.database.transaction({ organizationId }, async (tx) => {
      // The role is locked before the link, as when a role is deleted.
      if (!(await loadRole(tx, organizationId, role!))) throw invalidLinkError();
      await consumeAccountLink(tx, link);
      const actor = { kind: 'system', id: `invitation ${id}`, organizationId } as const;
      await insertUser(tx, actor, { organizationId, email, role: role!, passwordHash });
    });
  } catch (error) {
    // The address has an account by now. The answer does not reveal that to the holder of the link.
    if (error instanceof AppError && error.code === 'conflict') throw invalidLinkError();
    throw error;
  }
  return { email };
}

/** Returns the valid link of a token and the hash of the new password. Failures are limited as for a sign-in. */
async function verifyLinkAndHashPassword(
  { database, attempts, passwords, failures }: LinkParts,
  kind: AccountLinkEntity['kind'],
  { token, password, address }: UsedLink,
): Promise<{ link: FoundLink; passwordHash: string }> {
  const attempt = await attempts.countAttempt(failures, [`address:${address}`]);
  const id = tokenPattern.exec(token)?.[1];
  const [link] = id
    ? await database.query<FoundLink>(
        'system',
        `SELECT l.id, l.organization_id, l.user_id, l.email, l.role, l.secret_hash FROM account_link l
         LEFT JOIN app_user u ON u.email = l.email
         WHERE l.id = $1 AND l.kind = $2 AND l.expires_at > muster_now()
           AND CASE l.kind WHEN 'reset' THEN u.id = l.user_id AND NOT u.disabled ELSE u.id IS NULL END`,
        [id, kind],
      )
    : [];
  if (!link || !equalsInConstantTime(link.secretHash, sha256Hex(token))) throw invalidLinkError();
  attempt.forgive();
  return { link, passwordHash: await passwords.hashNewPassword(password, { email: link.email }) };
}

/** Deletes the link; throws if another request has used or replaced it. */
async function consumeAccountLink(tx: Transaction, { id }: FoundLink): Promise<void> {
  const taken = await tx.execute('DELETE FROM account_link WHERE id = $1 AND expires_at > muster_now()', [id]);
  if (taken === 0) throw invalidLinkError();
}

function invalidLinkError(): AppError {
  return new AppError('unauthenticated', {
    detail: 'This link is not valid: it was used, has expired, or a newer one replaced it. Request a new one.',
    errors: [{ field: 'token', message: 'token is not valid any more' }],
  });
}
