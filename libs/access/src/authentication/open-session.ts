import { AppError } from '@muster/contracts';
import type { Database, Transaction, UserEntity } from '@muster/database';
import { newId } from '@muster/platform';
import { audit } from '../audit/audit';
import type { UserPrincipal } from '../principal';
import { sessionLifetimeMs } from '../requests/session-cookie';
import { describeBrowser } from './describe-browser';
import { dropCachedPrincipals } from './access-changes';
import { generateSessionToken, parseSessionId, sha256Hex } from './credentials';
import { loadPrincipalOfSession } from './load-principal';
import { recordSignInAddress } from './sign-in-addresses';
import { isSsoEnforcedSql, mayBreakGlassSql, ssoRequiredError } from '../sso/enforcement';

/** The client of a sign-in, as the user's list of sessions shows it. */
export interface SignInClient {
  address: string;
  userAgent: string | undefined;
  /** Token of the session that the browser had, which ends with the sign-in. */
  presentToken?: string | undefined;
}

export interface OpenedSession {
  token: string;
  principal: UserPrincipal;
}

type SessionOwner = Pick<UserEntity, 'id' | 'organizationId' | 'email'>;

/** A sign-in with the emergency access of an organization that enforces single sign-on. */
export interface BreakGlass {
  user: SessionOwner;
  secondFactor: string;
  address: string;
}

/** Emits the event of an emergency access in the transaction that opens the session. */
export type EmitBreakGlass = (tx: Transaction, use: BreakGlass) => void;

interface NewSession {
  user: SessionOwner;
  client: SignInClient;
  /**
   * The identity provider proved who the user is. The provider decides about second factors, so that of the account is
   * proved only for sensitive changes.
   */
  via?: 'sso';
  /** Absent if the kind of sign-in cannot use the emergency access. */
  emitBreakGlass?: EmitBreakGlass;
  /** The second factor that was proved, if any. */
  secondFactor?: 'code' | 'recoveryCode' | 'passkey';
}

/** Opens a session in the transaction that identified the user; returns the session's id and token. */
export async function insertSession(
  tx: Transaction,
  { user, client: { address, userAgent }, secondFactor, via, emitBreakGlass }: NewSession,
): Promise<{ id: string; token: string }> {
  const [account] = await tx.query<OwnerState>(
    `UPDATE app_user u SET last_sign_in_at = $2 WHERE id = $1 AND NOT disabled
     RETURNING second_factor_since, ${isSsoEnforcedSql} AS needs_sso, ${mayBreakGlassSql} AS may_break_glass`,
    [user.id, tx.now],
    'sign_in',
  );
  // The account may have got a second factor after the password was checked. Then the password alone is not enough.
  if (!account || (account.secondFactorSince && !secondFactor && !via)) throw accountChangedError();
  if (account.needsSso && !via) {
    if (!account.mayBreakGlass || !secondFactor || !emitBreakGlass) throw ssoRequiredError();
    emitBreakGlass(tx, { user, secondFactor, address });
    audit(tx, buildUserActor(user), {
      action: 'user.break_glass',
      target: { type: 'user', id: user.id },
      changes: { secondFactor, address },
    });
  }
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
  audit(tx, buildUserActor(user), {
    action: 'session.create',
    target: { type: 'session', id },
    changes: { ...(secondFactor ? { secondFactor } : {}), ...(via ? { via } : {}) },
  });
  return { id, token };
}

type OwnerState = Pick<UserEntity, 'secondFactorSince'> & { needsSso: boolean; mayBreakGlass: boolean };

function buildUserActor({ id, email, organizationId }: SessionOwner) {
  return { kind: 'user' as const, id, email, organizationId };
}

/** Loads the principal of a new session after its commit, and ends the session that the browser had before. */
export async function readOpenedSession(
  database: Database,
  { id, token }: { id: string; token: string },
  { presentToken }: SignInClient,
): Promise<OpenedSession> {
  const session = await loadPrincipalOfSession(database, id);
  if (!session) throw accountChangedError();
  if (presentToken !== undefined) await endReplacedSession(database, presentToken, id);
  return { token, principal: session.principal };
}

/** Ends a session of any organization, whose token the browser forgets with the new one. */
async function endReplacedSession(database: Database, token: string, newId: string): Promise<void> {
  const id = parseSessionId(token);
  if (!id) return;
  await database.transaction('system', async (tx) => {
    const [owner] = await tx.query<SessionOwner & object>(
      `DELETE FROM user_session s USING app_user u WHERE s.id = $1 AND s.secret_hash = $2 AND u.id = s.user_id
       RETURNING u.id, u.organization_id, u.email`,
      [id, sha256Hex(token)],
      'end_replaced_session',
    );
    if (!owner) return;
    await dropCachedPrincipals(tx);
    audit(tx, buildUserActor(owner), {
      action: 'session.delete',
      target: { type: 'session', id },
      changes: { replacedBy: newId },
      organizationId: owner.organizationId,
    });
  });
}

/** Time for which the previous token is accepted, because other tabs may have sent requests with it. */
const previousTokenMs = 30_000;

/** Gives a session another token, which the browser gets; returns the token. */
export async function renewSessionToken(tx: Transaction, id: string): Promise<string> {
  const token = generateSessionToken(id);
  await tx.execute(
    `UPDATE user_session SET previous_hash = secret_hash, previous_until = $3, secret_hash = $2 WHERE id = $1`,
    [id, sha256Hex(token), new Date(tx.now.getTime() + previousTokenMs)],
    'renew_session_token',
  );
  return token;
}

function accountChangedError(): AppError {
  return new AppError('unauthenticated', { detail: 'The account was changed during the sign-in; sign in again.' });
}
