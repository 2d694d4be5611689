import { AppError } from '@muster/contracts';
import type { Database, Transaction, UserEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { audit } from '../audit/audit';
import type { UserPrincipal } from '../principal';
import { sessionLifetimeMs } from '../requests/session-cookie';
import { describeBrowser } from './describe-browser';
import { generateSessionToken, sha256Hex } from './credentials';
import { loadSession } from './load-principal';
import { recordSignInAddress } from './sign-in-addresses';

/** The client of a sign-in, as the user's list of sessions shows it. */
export interface SignInClient {
  address: string;
  userAgent: string | undefined;
}

export interface OpenedSession {
  token: string;
  principal: UserPrincipal;
}

interface NewSession {
  user: Pick<UserEntity, 'id' | 'organizationId' | 'email'>;
  client: SignInClient;
  /** The second factor that was proved, if any. */
  secondFactor?: 'code' | 'recoveryCode' | 'passkey';
}

/** Opens a session in the transaction that identified the user; returns the session's id and token. */
export async function insertSession(
  tx: Transaction,
  { user, client: { address, userAgent }, secondFactor }: NewSession,
): Promise<{ id: string; token: string }> {
  const [account] = await tx.query<Pick<UserEntity, 'secondFactorSince'>>(
    `UPDATE app_user SET last_sign_in_at = $2 WHERE id = $1 AND NOT disabled RETURNING second_factor_since`,
    [user.id, tx.now],
    'sign_in',
  );
  // The account may have got a second factor after the password was checked. Then the password alone is not enough.
  if (!account || (account.secondFactorSince && !secondFactor)) throw accountChangedError();
  const id = newId();
  const token = generateSessionToken(id);
  const { now } = tx;
  await tx.execute(
    `INSERT INTO user_session
       (id, user_id, organization_id, secret_hash, created_at, last_seen_at, expires_at, address, browser,
        second_factor_at)
     VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, $9)`,
    [
      ...[id, user.id, user.organizationId, sha256Hex(token), now, new Date(now.getTime() + sessionLifetimeMs)],
      ...[address, describeBrowser(userAgent), secondFactor ? now : null],
    ],
  );
  await recordSignInAddress(tx, { user, address, now });
  const actor = { kind: 'user' as const, id: user.id, email: user.email, organizationId: user.organizationId };
  const target = { type: 'session', id };
  audit(tx, actor, { action: 'session.create', target, ...(secondFactor ? { changes: { secondFactor } } : {}) });
  return { id, token };
}

/** Loads the principal of a new session after its commit. */
export async function readOpenedSession(
  database: Database,
  { id, token }: { id: string; token: string },
): Promise<OpenedSession> {
  const session = await loadSession(database, id);
  if (!session) throw accountChangedError();
  return { token, principal: session.principal };
}

function accountChangedError(): AppError {
  return new AppError('unauthenticated', { detail: 'The account was changed during the sign-in; sign in again.' });
}
