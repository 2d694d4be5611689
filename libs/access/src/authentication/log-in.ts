import { AppError, type LoginBody } from '@muster/contracts';
import { type Database, UserEntity } from '@muster/database';
import { type Clock, newId, type RateLimiter, type RatePolicy } from '@muster/platform';
import { audit } from '../audit/audit';
import { sessionLifetimeMs } from '../requests/session-cookie';
import type { UserPrincipal } from '../principal';
import { checkPassword, newSessionToken, sha256 } from './credentials';
import { loadSession } from './load-principal';

export interface LoginParts {
  database: Database;
  limiter: RateLimiter;
  clock: Clock;
  /** How many failures one account, or one address, has in a minute. */
  failures: RatePolicy;
}

/** Opens a session. Only failures count against the limit, so that a busy office behind one address signs in freely. */
export async function logIn(
  { database, limiter, clock, failures }: LoginParts,
  { email: given, password }: LoginBody,
  address: string,
): Promise<{ token: string; principal: UserPrincipal }> {
  const email = given.toLowerCase();
  limiter.refuseIfSpent(failures, `account:${email}`);
  limiter.refuseIfSpent(failures, `address:${address}`);
  const user = await database.transaction('system', (tx) => tx.manager.findOneBy(UserEntity, { email }));
  if (!(await checkPassword(password, user?.passwordHash)) || !user || user.disabled) {
    await limiter.take(failures, `account:${email}`);
    await limiter.take(failures, `address:${address}`);
    throw new AppError('unauthenticated', { detail: 'The email address or the password is wrong.' });
  }
  const id = newId();
  const token = newSessionToken(id);
  const now = clock.now();
  await database.transaction({ organizationId: user.organizationId }, async (tx) => {
    await tx.execute(
      `INSERT INTO user_session (id, user_id, organization_id, secret_hash, created_at, last_seen_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, $5, $6)`,
      [id, user.id, user.organizationId, sha256(token), now, new Date(now.getTime() + sessionLifetimeMs)],
    );
    await tx.execute('UPDATE app_user SET last_sign_in_at = $2 WHERE id = $1', [user.id, now]);
    const actor = { kind: 'user' as const, id: user.id, email, organizationId: user.organizationId };
    audit(tx, actor, { action: 'session.create', target: { type: 'session', id } });
  });
  const session = await loadSession(database, id);
  return { token, principal: session!.principal };
}
