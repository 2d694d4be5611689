import { createHmac, randomBytes } from 'node:crypto';
import type { Database, SsoSignInEntity } from '@muster/database';
import { sha256Hex } from '../authentication/credentials';
import type { SignInBinding } from './identity-providers';

/** Time that a user has for signing in at the provider. */
export const signInLifetimeMs = 10 * 60_000;

const secretPattern = /^[A-Za-z0-9_-]{43}$/;

/** A sign-in that the browser has started: its cookie and the values for the provider. */
interface StartedSignIn {
  /** Value of the cookie that binds the sign-in to the browser. */
  browserSecret: string;
  binding: SignInBinding;
}

/** Starts a sign-in. The row has only hashes, so a reader of the database cannot complete the sign-in. */
export async function insertSsoSignIn(
  database: Database,
  { organizationId, issuer, redirectUri, now }: Omit<NewSignIn, 'expiresAt'> & { now: Date },
): Promise<StartedSignIn> {
  const [browserSecret, state] = [generateSignInSecret(), generateSignInSecret()];
  await database.query(
    { organizationId },
    `INSERT INTO sso_sign_in (state_hash, browser_hash, organization_id, issuer, redirect_uri, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6)`,
    [
      ...[sha256Hex(state), sha256Hex(browserSecret), organizationId, issuer, redirectUri],
      new Date(now.getTime() + signInLifetimeMs),
    ],
    'start_sso',
  );
  return { browserSecret, binding: deriveSignInBinding({ state, browserSecret, redirectUri }) };
}

type NewSignIn = Pick<SsoSignInEntity, 'organizationId' | 'issuer' | 'redirectUri' | 'expiresAt'>;

type EndedSignIn = Pick<SsoSignInEntity, 'organizationId' | 'issuer'> & { binding: SignInBinding };

/**
 * Ends a sign-in whose browser has come back, so that its state is used once. Returns null if the state is unknown, used
 * or expired, or if another browser started the sign-in. Another browser does not end it.
 */
export async function consumeSsoSignIn(
  database: Database,
  { state, browserSecret, now }: { state: string | null; browserSecret: string | null; now: Date },
): Promise<EndedSignIn | null> {
  if (!state || !browserSecret || !secretPattern.test(state) || !secretPattern.test(browserSecret)) return null;
  const [row] = await database.query<Pick<SsoSignInEntity, 'organizationId' | 'issuer' | 'redirectUri'>>(
    'system',
    `DELETE FROM sso_sign_in WHERE state_hash = $1 AND browser_hash = $2 AND expires_at > $3
     RETURNING organization_id, issuer, redirect_uri`,
    [sha256Hex(state), sha256Hex(browserSecret), now],
    'end_sso',
  );
  if (!row) return null;
  const { organizationId, issuer, redirectUri } = row;
  return { organizationId, issuer, binding: deriveSignInBinding({ state, browserSecret, redirectUri }) };
}

/** Derives the nonce and the PKCE verifier from the cookie, so that they need not be stored. */
function deriveSignInBinding({
  state,
  browserSecret,
  redirectUri,
}: {
  state: string;
  browserSecret: string;
  redirectUri: string;
}): SignInBinding {
  const derive = (name: string) => createHmac('sha256', browserSecret).update(`${name} ${state}`).digest('base64url');
  return { redirectUri, state, nonce: derive('nonce'), codeVerifier: derive('code verifier') };
}

function generateSignInSecret(): string {
  return randomBytes(32).toString('base64url');
}
