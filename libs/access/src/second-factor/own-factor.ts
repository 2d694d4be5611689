import { AppError, type RemoveTotpBody, type SecondFactorProof, type TotpEnrolment } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { audit } from '../audit/audit';
import { dropCachedPrincipals } from '../authentication/access-changes';
import { renewSessionToken } from '../authentication/open-session';
import { type CodeParts, runCountedAttempt, wrongCodeError } from '../authentication/sign-in-with-ticket';
import type { UserPrincipal } from '../principal';
import { type OwnPasswordParts, requireOwnPassword } from '../users/own-password';
import { type Proof, readSecondFactorProof, consumeSecondFactorProof } from './proofs';
import { startTotp, confirmTotp, type FactorOwner, type OwnSession, removeTotp } from './second-factors';

/** Starts the setup of the caller's authenticator app. */
export function startOwnTotp({ database, keyRing }: CodeParts, caller: UserPrincipal): Promise<TotpEnrolment> {
  return runInHomeOrganization(database, caller, (tx) => startTotp(tx, keyRing, toFactorOwner(caller)));
}

export function confirmOwnTotp(
  { database, keyRing }: CodeParts,
  caller: UserPrincipal,
  code: string,
): Promise<string[]> {
  return runInHomeOrganization(database, caller, async (tx) => {
    const codes = await confirmTotp(tx, keyRing, toFactorOwner(caller), { code, sessionId: caller.sessionId });
    if (!codes) throw wrongOwnCodeError();
    return codes;
  });
}

/** Removes the caller's authenticator app. Requires the password and a proof, as an open session is not enough. */
export async function removeOwnTotp(
  parts: CodeParts & OwnPasswordParts & Pick<OwnSession, 'hasPublicAddress'>,
  caller: UserPrincipal,
  { password, address, ...sent }: RemoveTotpBody & { address: string },
): Promise<void> {
  const proof = await readSecondFactorProof(parts, sent);
  await requireOwnPassword(parts, caller, { password, field: 'password', address });
  await runWithVerifiedProof(parts, caller, { ...proof, address }, async (tx) => {
    const { sessionId } = caller;
    await removeTotp(tx, toFactorOwner(caller), { sessionId, hasPublicAddress: parts.hasPublicAddress });
    audit(tx, caller, {
      action: 'second_factor.delete',
      target: { type: 'user', id: caller.id },
      organizationId: caller.homeOrganizationId,
    });
    return {};
  });
}

/**
 * Proves the caller's second factor again, for an action that an open session is not enough for. Returns the new token
 * of the session with `renewsToken`, and null without it.
 */
export async function proveSecondFactorAgain(
  parts: CodeParts,
  caller: UserPrincipal,
  { address, renewsToken, ...sent }: SecondFactorProof & { address: string; renewsToken: boolean },
): Promise<string | null> {
  const proof = await readSecondFactorProof(parts, sent);
  const { token } = await runWithVerifiedProof(parts, caller, { ...proof, address }, async (tx) => {
    await tx.execute('UPDATE user_session SET second_factor_at = $2 WHERE id = $1', [caller.sessionId, tx.now]);
    const newToken = renewsToken ? await renewSessionToken(tx, caller.sessionId) : null;
    await dropCachedPrincipals(tx);
    audit(tx, caller, {
      action: 'session.step_up',
      target: { type: 'session', id: caller.sessionId },
      organizationId: caller.homeOrganizationId,
    });
    return { token: newToken };
  });
  return token;
}

/**
 * Runs the action if the proof is right. Failures are limited as for a sign-in, so a signed-in user cannot guess more
 * often.
 */
async function runWithVerifiedProof<Done extends object>(
  parts: CodeParts,
  caller: UserPrincipal,
  { address, ...proof }: Proof & { address: string },
  act: (tx: Transaction) => Promise<Done>,
): Promise<Done> {
  const { database } = parts;
  return runCountedAttempt(parts, { user: caller, address, knowsAddress: false }, () =>
    runInHomeOrganization(database, caller, async (tx) => {
      if (!(await consumeSecondFactorProof(tx, parts, toFactorOwner(caller), proof)))
        return { refused: wrongOwnCodeError() };
      return act(tx);
    }),
  );
}

function runInHomeOrganization<T>(
  database: Database,
  caller: UserPrincipal,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  return database.transaction({ organizationId: caller.homeOrganizationId }, work);
}

export function toFactorOwner({ id, email, homeOrganizationId }: UserPrincipal): FactorOwner {
  return { id, email, organizationId: homeOrganizationId };
}

/**
 * Returns an error other than 401: the session is still valid, and a 401 would make the console ask for a new sign-in.
 */
function wrongOwnCodeError(): AppError {
  const { detail, errors } = wrongCodeError().options;
  return new AppError('permission_denied', { detail, errors });
}
