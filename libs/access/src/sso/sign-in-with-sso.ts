import { randomBytes } from 'node:crypto';
import { AppError, type RoleHolder } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import type { Attempts, Clock, RatePolicy } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import {
  insertSession,
  type OpenedSession,
  readOpenedSession,
  type SignInClient,
} from '../authentication/open-session';
import type { Actor } from '../audit/audit';
import type { Passwords } from '../authentication/passwords';
import { listProvidableRoles } from '../users/provided-roles';
import { insertUser, setReportedEmail, setReportedRole } from '../users/users';
import { getEmailDomain } from './domains';
import type { IdentityProviders } from './identity-providers';
import { type AccountUser, linkUser, lockLinkedUser, readSubject } from './links';
import { consumeSsoSignIn, insertSsoSignIn } from './sign-ins';
import { SsoRefused } from './sso-refused';
import { chooseProvidedRole, readSsoProvider, type SsoProvider } from './sso-settings';
import { readVerifiedEmail } from './verified-email';

export interface SsoParts {
  database: Database;
  keyRing: KeyRing;
  attempts: Attempts;
  passwords: Passwords;
  clock: Clock;
  providers: IdentityProviders;
  /** Maximum number of failures of one address per minute. */
  failures: RatePolicy;
}

/**
 * Starts a sign-in with the provider of the email domain. Returns the address of the provider, and the value of the
 * cookie that binds the sign-in to the browser. Depends on the domain alone, so the response does not reveal whether
 * the address has an account.
 */
export async function startSsoSignIn(
  { database, keyRing, attempts, clock, providers, failures }: SsoParts,
  { email, address, redirectUri }: { email: string; address: string; redirectUri: string },
): Promise<{ url: string; browserSecret: string }> {
  const attempt = await attempts.countAttempt(failures, [`address:${address}`]);
  const organizationId = await findOrganizationOfDomain(database, getEmailDomain(email));
  if (!organizationId) {
    throw new AppError('not_found', { detail: 'Single sign-on is not set up for this email domain.' });
  }
  attempt.forgive();
  const provider = await readSsoProvider(database, keyRing, organizationId);
  const { issuer } = provider;
  const started = await insertSsoSignIn(database, { organizationId, issuer, redirectUri, now: clock.now() });
  const url = await providers.buildAuthorizationUrl(provider, started.binding, email);
  return { url, browserSecret: started.browserSecret };
}

/**
 * Completes a sign-in when the browser comes back from the provider: opens the session of the user, who is created at
 * the first sign-in. Throws SsoRefused with the reason, which only the log may show, because it could reveal whether
 * an account exists.
 */
export async function finishSsoSignIn(
  parts: SsoParts,
  { query, browserSecret }: { query: string; browserSecret: string | null },
  client: SignInClient,
): Promise<OpenedSession> {
  const { database, keyRing, attempts, clock, providers, failures } = parts;
  const attempt = await attempts.countAttempt(failures, [`address:${client.address}`]);
  const state = new URLSearchParams(query).get('state');
  const signIn = await consumeSsoSignIn(database, { state, browserSecret, now: clock.now() });
  if (!signIn) throw new SsoRefused('the state is unknown, used or expired, or is that of another browser');
  const { organizationId, issuer, binding } = signIn;
  const provider = await readSsoProvider(database, keyRing, organizationId).catch((error: unknown) => {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
    throw new SsoRefused('the provider was removed during the sign-in');
  });
  if (provider.issuer !== issuer) throw new SsoRefused('the provider was changed during the sign-in');
  const claims = await providers.exchangeCode(provider, binding, query);
  const email = readVerifiedEmail(claims, provider.issuer);
  const session = await openSessionOfUser(parts, { provider, email, claims, client });
  attempt.forgive();
  return readOpenedSession(database, session, client);
}

async function findOrganizationOfDomain(database: Database, domain: string): Promise<string | null> {
  const [row] = await database.query<{ organizationId: string }>(
    'system',
    `SELECT s.organization_id FROM organization_domain d
     JOIN organization_sso s ON s.organization_id = d.organization_id AND d.domain = ANY(s.domains)
     WHERE d.domain = $1 AND d.proved_at IS NOT NULL`,
    [domain],
    'organization_of_domain',
  );
  return row?.organizationId ?? null;
}

interface SsoUser {
  provider: SsoProvider;
  email: string;
  claims: Record<string, unknown>;
  client: SignInClient;
}

async function openSessionOfUser(
  { database, passwords }: SsoParts,
  { provider, email, claims, client }: SsoUser,
): Promise<{ id: string; token: string }> {
  const { organizationId } = provider;
  const subject = readSubject(claims);
  // An account without a known password has the hash of a random one, so a sign-in with a password takes the same time.
  const hashPassword = () => passwords.hashNewPassword(randomBytes(32).toString('base64url'), { email });
  const passwordHash = (await hasAccountInOrganization(database, provider, email)) ? null : await hashPassword();
  try {
    return await database.transaction({ organizationId }, async (tx) => {
      await requireEmailInOwnDomain(tx, provider, email);
      const provided = chooseProvidedRole(claims, provider, await listProvidableRoles(tx, organizationId));
      const actor = { kind: 'system', id: 'single sign-on', organizationId } as const;
      const linked = await lockLinkedUser(tx, provider, subject);
      const user =
        linked ??
        (await lockUserByEmail(tx, provider, email)) ??
        (await createSsoUser(tx, actor, { email, role: provided, passwordHash }));
      requireAdmittedUser(user);
      if (!linked) await linkUser(tx, provider, { subject, userId: user.id });
      if (user.email !== email) await setReportedEmail(tx, user, email, actor);
      if (provided && provided.role !== user.role) await setReportedRole(tx, user, provided, actor);
      return insertSession(tx, { user: { ...user, email }, client, via: 'sso' });
    });
  } catch (error) {
    // Another account has the address: one of another organization, over which this provider has no power, or one that
    // the subject is not linked to.
    if (error instanceof AppError && error.code === 'conflict')
      throw new SsoRefused('the address belongs to another account');
    throw error;
  }
}

async function hasAccountInOrganization(
  database: Database,
  { organizationId }: SsoProvider,
  email: string,
): Promise<boolean> {
  const rows = await database.query(
    { organizationId },
    'SELECT id FROM app_user WHERE organization_id = $1 AND email = $2',
    [organizationId, email],
    'has_account',
  );
  return rows.length > 0;
}

async function lockUserByEmail(
  tx: Transaction,
  { organizationId }: SsoProvider,
  email: string,
): Promise<AccountUser | null> {
  const [user] = await tx.query<AccountUser & object>(
    `SELECT id, organization_id, email, role, disabled FROM app_user
     WHERE organization_id = $1 AND email = $2 FOR UPDATE`,
    [organizationId, email],
    'lock_sso_user',
  );
  return user ?? null;
}

async function createSsoUser(
  tx: Transaction,
  actor: Actor,
  { email, role, passwordHash }: { email: string; role: RoleHolder | null; passwordHash: string | null },
): Promise<AccountUser> {
  if (passwordHash === null) throw new SsoRefused('the account was removed during the sign-in');
  const { organizationId } = actor;
  return insertUser(tx, actor, { organizationId, email, role: role?.role ?? 'viewer', passwordHash });
}

/** Throws unless the provider may speak for the address: its domain must be proved and named by the organization. */
async function requireEmailInOwnDomain(
  tx: Transaction,
  { organizationId, issuer }: SsoProvider,
  email: string,
): Promise<void> {
  const rows = await tx.query(
    `SELECT d.domain FROM organization_domain d
     JOIN organization_sso s ON s.organization_id = d.organization_id AND d.domain = ANY(s.domains)
     WHERE d.organization_id = $1 AND d.domain = $2 AND d.proved_at IS NOT NULL AND s.issuer = $3
     FOR SHARE`,
    [organizationId, getEmailDomain(email), issuer],
    'own_domain',
  );
  if (rows.length === 0) throw new SsoRefused('the email address is not of a proved domain of the organization');
}

function requireAdmittedUser({ disabled, role }: AccountUser): void {
  if (disabled) throw new SsoRefused('the account is disabled');
  // An admin of one organization sets the provider, and a super_admin has rights over all organizations.
  if (role === 'super_admin') throw new SsoRefused('a super_admin cannot sign in with single sign-on');
}
