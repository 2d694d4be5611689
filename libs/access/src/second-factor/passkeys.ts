import {
  AppError,
  type CreatePasskeyBody,
  invalidFieldError,
  notFoundError,
  type PasskeyCreationOptions,
  type PasskeyRequestOptions,
} from '@muster/contracts';
import { type Database, type PasskeyEntity, type Transaction, getViolatedConstraint } from '@muster/database';
import { type Clock, newId, type Page } from '@muster/platform';
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import type { UserPrincipal } from '../principal';
import {
  challengeLifetimeMs,
  issuePasskeyChallenge,
  type PasskeyAnswer,
  consumePasskeyResponse,
} from './passkey-challenges';
import type { RelyingParty } from './relying-party';
import {
  toUserActor,
  endSessionsAfterRemoval,
  endOtherSessionsOfUser,
  type FactorOwner,
  lockAndReadTotpSetupTime,
  type OwnSession,
} from './second-factors';

export type PasskeyRow = Pick<PasskeyEntity, 'id' | 'name' | 'createdAt' | 'lastUsedAt'>;

export interface PasskeyParts {
  database: Database;
  clock: Clock;
  relyingParty: RelyingParty;
}

/** Maximum number of passkeys of one user. */
const maxPasskeys = 20;

/**
 * Returns the options with which the caller's browser creates a passkey. The passkey must work without an account name
 * (resident key), and must verify its user.
 */
export async function buildPasskeyCreationOptions(
  { database, clock, relyingParty }: PasskeyParts,
  owner: FactorOwner,
): Promise<PasskeyCreationOptions> {
  const { generateRegistrationOptions } = await import('@simplewebauthn/server');
  const own = await database.query<Pick<PasskeyEntity, 'credentialId'>>(
    { organizationId: owner.organizationId },
    'SELECT credential_id FROM passkey WHERE user_id = $1',
    [owner.id],
    'own_credentials',
  );
  const challenge = await issuePasskeyChallenge(database, { userId: owner.id, now: clock.now() });
  const { rp, user, pubKeyCredParams, timeout, excludeCredentials, authenticatorSelection, attestation } =
    await generateRegistrationOptions({
      rpName: 'Muster',
      rpID: relyingParty.id,
      userID: buildUserHandle(owner.id),
      userName: owner.email,
      userDisplayName: owner.email,
      challenge: Buffer.from(challenge, 'base64url'),
      timeout: challengeLifetimeMs,
      attestationType: 'none',
      excludeCredentials: own.map(({ credentialId }) => ({ id: credentialId })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    });
  return {
    challenge,
    rp: { ...rp },
    user: { ...user },
    pubKeyCredParams: pubKeyCredParams.map((each) => ({ ...each })),
    timeout: timeout!,
    excludeCredentials: excludeCredentials!.map((each) => ({ ...each })),
    authenticatorSelection: { ...authenticatorSelection },
    attestation: attestation!,
  };
}

/** Returns the options to use any passkey. The user is not known yet, so the options list no credentials. */
export async function buildPasskeyRequestOptions({
  database,
  clock,
  relyingParty,
}: PasskeyParts): Promise<PasskeyRequestOptions> {
  return {
    challenge: await issuePasskeyChallenge(database, { userId: null, now: clock.now() }),
    rpId: relyingParty.id,
    timeout: challengeLifetimeMs,
    userVerification: 'required',
  };
}

/**
 * Adds a passkey. If it is the user's first factor, all other sessions end, because they were opened without a second
 * factor.
 */
export async function addPasskey(
  { database, clock, relyingParty }: PasskeyParts,
  owner: FactorOwner & { sessionId: string },
  { name, response: sent }: CreatePasskeyBody,
): Promise<PasskeyRow> {
  const answer = await consumePasskeyResponse(database, sent, {
    field: 'response',
    userId: owner.id,
    now: clock.now(),
  });
  const registered = await verifyPasskeyRegistration(relyingParty, answer);
  if (!registered) {
    throw invalidFieldError(
      'response',
      'response does not match the challenge',
      'The passkey was not accepted; start again.',
    );
  }
  return database.transaction({ organizationId: owner.organizationId }, async (tx) => {
    const since = await lockAndReadTotpSetupTime(tx, owner.id);
    const [{ count }] = (await tx.query<{ count: number }>(
      'SELECT count(*)::integer AS count FROM passkey WHERE user_id = $1',
      [owner.id],
    )) as [{ count: number }];
    if (count >= maxPasskeys) {
      throw new AppError('conflict', {
        detail: `An account can have at most ${maxPasskeys} passkeys; remove one first.`,
      });
    }
    const id = newId();
    await tx
      .execute(
        `INSERT INTO passkey (id, user_id, organization_id, name, credential_id, public_key, counter, created_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        [
          id,
          owner.id,
          owner.organizationId,
          name,
          registered.id,
          Buffer.from(registered.publicKey),
          registered.counter,
          tx.now,
        ],
        'add_passkey',
      )
      .catch((error: unknown) => {
        if (getViolatedConstraint(error) !== 'passkey_credential_key') throw error;
        throw new AppError('conflict', {
          detail: 'This passkey is already registered. Sign in with it, or add another one.',
        });
      });
    if (!since) {
      await tx.execute('UPDATE app_user SET second_factor_since = $2 WHERE id = $1', [owner.id, tx.now]);
      await endOtherSessionsOfUser(tx, owner.id, owner.sessionId);
    }
    await tx.execute('UPDATE user_session SET second_factor_at = $2 WHERE id = $1', [owner.sessionId, tx.now]);
    await dropCachedPrincipals(tx);
    audit(tx, toUserActor(owner), {
      action: 'passkey.create',
      target: { type: 'user', id: owner.id },
      changes: { passkey: id, name },
    });
    return { id, name, createdAt: tx.now, lastUsedAt: null };
  });
}

/**
 * Whether the response comes from one of the user's passkeys and its user was verified. A counter that does not
 * increase means that the passkey was copied: the response is rejected, and an audit row records it.
 */
export async function verifyAndUpdatePasskey(
  tx: Transaction,
  relyingParty: RelyingParty,
  owner: FactorOwner,
  { response, challenge }: PasskeyAnswer,
): Promise<boolean> {
  const [passkey] = await tx.query<Pick<PasskeyEntity, 'id' | 'name' | 'publicKey' | 'counter'>>(
    'SELECT id, name, public_key, counter FROM passkey WHERE credential_id = $1 AND user_id = $2 FOR UPDATE',
    [response.id, owner.id],
    'read_passkey',
  );
  const { userHandle } = response.response;
  const isOwners =
    userHandle === undefined || userHandle === Buffer.from(buildUserHandle(owner.id)).toString('base64url');
  if (!passkey || !challenge || !isOwners) return false;
  const { id, name } = passkey;
  const counter = await verifyPasskeyAssertion(relyingParty, { response, challenge, publicKey: passkey.publicKey });
  if (counter === null) return false;
  const last = Number(passkey.counter);
  if (counter <= last && (counter > 0 || last > 0)) {
    const changes = { passkey: id, name, counter: [last, counter] };
    audit(tx, toUserActor(owner), { action: 'passkey.refuse', target: { type: 'user', id: owner.id }, changes });
    return false;
  }
  await tx.execute(
    'UPDATE passkey SET counter = $2, last_used_at = $3 WHERE id = $1',
    [id, counter, tx.now],
    'use_passkey',
  );
  return true;
}

/** Lists the caller's passkeys, oldest first. */
export function listPasskeys(
  database: Database,
  { id, homeOrganizationId }: UserPrincipal,
  page: Page,
): Promise<PasskeyRow[]> {
  return database.query<PasskeyRow>(
    { organizationId: homeOrganizationId },
    `SELECT id, name, created_at, last_used_at FROM passkey
     WHERE user_id = $1 AND ($2::uuid IS NULL OR id > $2) ORDER BY id LIMIT $3`,
    [id, page.after?.[0] ?? null, page.limit + 1],
    'list_passkeys',
  );
}

/** Removes a passkey, and ends sessions that it may have opened; see `endSessionsAfterRemoval`. */
export async function removePasskey(
  tx: Transaction,
  caller: UserPrincipal,
  { id, hasPublicAddress }: { id: string } & Pick<OwnSession, 'hasPublicAddress'>,
): Promise<void> {
  const owner = { id: caller.id, email: caller.email, organizationId: caller.homeOrganizationId };
  await lockAndReadTotpSetupTime(tx, owner.id);
  const [removed] = await tx.query<Pick<PasskeyEntity, 'name'>>(
    'DELETE FROM passkey WHERE id = $1 AND user_id = $2 RETURNING name',
    [id, owner.id],
  );
  if (!removed) throw notFoundError('passkey');
  await endSessionsAfterRemoval(tx, owner, { sessionId: caller.sessionId, hasPublicAddress });
  audit(tx, toUserActor(owner), {
    action: 'passkey.delete',
    target: { type: 'user', id: owner.id },
    changes: { passkey: id, name: removed.name },
  });
}

async function verifyPasskeyRegistration(
  { id, origin }: RelyingParty,
  { response, challenge }: PasskeyAnswer,
): Promise<{ id: string; publicKey: Uint8Array; counter: number } | null> {
  if (!challenge) return null;
  const { verifyRegistrationResponse } = await import('@simplewebauthn/server');
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: response as unknown as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
  }).catch(() => ({ verified: false, registrationInfo: undefined }));
  return verified && registrationInfo ? registrationInfo.credential : null;
}

/** Returns the authenticator's counter; null unless the signature and everything else is valid. */
async function verifyPasskeyAssertion(
  { id, origin }: RelyingParty,
  { response, challenge, publicKey }: { response: PasskeyAnswer['response']; challenge: string; publicKey: Buffer },
): Promise<number | null> {
  const { verifyAuthenticationResponse } = await import('@simplewebauthn/server');
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: response as unknown as AuthenticationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: id,
    requireUserVerification: true,
    // 0 turns off the library's check. `verifyAndUpdatePasskey` checks the counter after the signature, so that a forged response
    // leaves no audit row.
    credential: { id: response.id, publicKey: new Uint8Array(publicKey), counter: 0 },
  }).catch(() => ({ verified: false, authenticationInfo: undefined }));
  return verified && authenticationInfo ? authenticationInfo.newCounter : null;
}

/** Returns the user handle that authenticators store: the bytes of the user's id, which do not reveal the person. */
function buildUserHandle(userId: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(userId.replace(/-/g, ''), 'hex'));
}
