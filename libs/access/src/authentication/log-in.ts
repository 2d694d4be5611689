import { AppError, type LoginBody } from '@muster/contracts';
import type { Database, UserEntity } from '@muster/database';
import { type Attempts, type Clock, newId, type RatePolicy } from '@muster/platform';
import { audit } from '../audit/audit';
import { sessionLifetimeMs } from '../requests/session-cookie';
import type { UserPrincipal } from '../principal';
import { newSessionToken, sha256 } from './credentials';
import { loadSession } from './load-principal';
import type { Passwords } from './passwords';
import { knownAddressDays, recordAddress } from './sign-in-addresses';

export interface LoginParts {
  database: Database;
  attempts: Attempts;
  passwords: Passwords;
  clock: Clock;
  /** How many failures one account, or one address, has in a minute. */
  failures: RatePolicy;
}

/**
 * Opens a session. An attempt is counted before the password is looked at, and only failures stay counted, so that a
 * busy office behind one address signs in freely. An address that the account knows is counted by itself: what
 * strangers guess is no matter to it.
 */
export async function logIn(
  { database, attempts, passwords, clock, failures }: LoginParts,
  { email: given, password }: LoginBody,
  address: string,
): Promise<{ token: string; principal: UserPrincipal }> {
  const email = given.toLowerCase();
  const now = clock.now();
  const user = await passwords.lookUp(() => findAccount(database, { email, address, now }));
  const attempt = await attempts.begin(
    failures,
    user?.knowsAddress ? [`known:${user.id}:${address}`] : [`address:${address}`, `account:${sha256(email)}`],
  );
  const right = await passwords
    .check(password, user?.passwordHash, user?.knowsAddress ? 'known' : 'stranger')
    .catch((error: unknown) => {
      // Nobody looked at it.
      attempt.forgive();
      throw error;
    });
  if (!right || !user || user.disabled) {
    throw new AppError('unauthenticated', { detail: 'The email address or the password is wrong.' });
  }
  attempt.forgive();
  const id = newId();
  const token = newSessionToken(id);
  await database.transaction({ organizationId: user.organizationId }, async (tx) => {
    await tx.execute(
      `INSERT INTO user_session (id, user_id, organization_id, secret_hash, created_at, last_seen_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, $5, $6)`,
      [id, user.id, user.organizationId, sha256(token), now, new Date(now.getTime() + sessionLifetimeMs)],
    );
    await tx.execute('UPDATE app_user SET last_sign_in_at = $2 WHERE id = $1', [user.id, now]);
    await recordAddress(tx, { user, address, now });
    const actor = { kind: 'user' as const, id: user.id, email, organizationId: user.organizationId };
    audit(tx, actor, { action: 'session.create', target: { type: 'session', id } });
  });
  const session = await loadSession(database, id);
  if (!session) throw new AppError('unauthenticated', { detail: 'The account was closed meanwhile.' });
  return { token, principal: session.principal };
}

interface Account extends Pick<UserEntity, 'id' | 'organizationId' | 'passwordHash' | 'disabled'> {
  knowsAddress: boolean;
}

async function findAccount(
  database: Database,
  { email, address, now }: { email: string; address: string; now: Date },
): Promise<Account | undefined> {
  const [account] = await database.query<Account>(
    'system',
    `SELECT u.id, u.organization_id, u.password_hash, u.disabled, a.last_at IS NOT NULL AS knows_address
     FROM app_user u
     LEFT JOIN sign_in_address a ON a.user_id = u.id AND a.address = $2
       AND a.last_at > $3::timestamptz - $4 * interval '1 day'
     WHERE u.email = $1`,
    [email, address, now, knownAddressDays],
    'find_account',
  );
  return account;
}
