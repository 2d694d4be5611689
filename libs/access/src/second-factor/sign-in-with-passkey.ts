import { AppError, type PasskeySignInBody } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { Attempts, RatePolicy } from '@muster/platform';
import { consumePasskeyResponse } from './passkey-challenges';
import { type PasskeyParts, verifyAndUpdatePasskey } from './passkeys';
import { type FactorOwner, lockAndReadTotpSetupTime } from './second-factors';
import {
  type EmitBreakGlass,
  insertSession,
  type OpenedSession,
  readOpenedSession,
  type SignInClient,
} from '../authentication/open-session';
import { knownAddressDays } from '../authentication/sign-in-addresses';

export interface PasskeySignInParts extends PasskeyParts {
  attempts: Attempts;
  /** Maximum number of failures of one address per minute. */
  failures: RatePolicy;
  emitBreakGlass: EmitBreakGlass;
}

/**
 * Opens a session with a passkey alone. A passkey that verifies its user counts as two factors: a device that the user
 * has, and a PIN or a fingerprint. The error is the same for every cause.
 */
export async function logInWithPasskey(
  parts: PasskeySignInParts,
  { response }: PasskeySignInBody,
  client: SignInClient,
): Promise<OpenedSession> {
  const { database, attempts, clock, failures, relyingParty } = parts;
  const { address } = client;
  const now = clock.now();
  const answer = await consumePasskeyResponse(database, response, { field: 'response', userId: null, now });
  const holder = await findPasskeyHolder(database, { credentialId: answer.response.id, address, now });
  const attempt = await attempts.countAttempt(failures, [
    holder?.knowsAddress ? `known:${holder.user.id}:${address}` : `address:${address}`,
  ]);
  if (!holder) throw passkeyRefusedError();
  const { user } = holder;
  const session = await database.transaction({ organizationId: user.organizationId }, async (tx) => {
    await lockAndReadTotpSetupTime(tx, user.id);
    // Returns instead of throwing, so that the audit row of a rejected passkey is committed.
    if (!(await verifyAndUpdatePasskey(tx, relyingParty, user, answer))) return null;
    return insertSession(tx, { user, client, secondFactor: 'passkey', emitBreakGlass: parts.emitBreakGlass });
  });
  if (!session) throw passkeyRefusedError();
  attempt.forgive();
  return readOpenedSession(database, session, client);
}

async function findPasskeyHolder(
  database: Database,
  { credentialId, address, now }: { credentialId: string; address: string; now: Date },
): Promise<{ user: FactorOwner; knowsAddress: boolean } | null> {
  const [row] = await database.query<FactorOwner & { knowsAddress: boolean }>(
    'system',
    `SELECT u.id, u.organization_id, u.email, a.last_at IS NOT NULL AS knows_address
     FROM passkey p
     JOIN app_user u ON u.id = p.user_id AND NOT u.disabled
     LEFT JOIN sign_in_address a ON a.user_id = u.id AND a.address = $2
       AND a.last_at > $3::timestamptz - $4 * interval '1 day'
     WHERE p.credential_id = $1`,
    [credentialId, address, now, knownAddressDays],
    'holder_of_passkey',
  );
  if (!row) return null;
  const { knowsAddress, ...user } = row;
  return { user, knowsAddress };
}

function passkeyRefusedError(): AppError {
  return new AppError('unauthenticated', {
    detail: 'The passkey was not accepted; try again, or sign in with your password.',
  });
}
