import { AppError, type TicketCodeBody, type TotpEnrolment, type TotpLoginBody } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { Attempts, Clock, RatePolicy } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { audit } from '../audit/audit';
import { readProof, useProof } from '../second-factor/proofs';
import type { RelyingParty } from '../second-factor/relying-party';
import { actorOf, beginTotp, confirmTotp, type FactorOwner } from '../second-factor/second-factors';
import { insertSession, type OpenedSession, readOpened, type SignInPlace } from './open-session';
import { countFailure, holderOf, takeTicket, ticketOver } from './tickets';

export interface CodeParts {
  database: Database;
  attempts: Attempts;
  keyRing: KeyRing;
  clock: Clock;
  /** A function, as an address that allows no passkeys is no matter to whoever has none. */
  relyingParty: () => RelyingParty;
}

/**
 * Wrong codes of one account, over all tickets, addresses and sessions. A ticket costs nothing to whoever knows the
 * password, so this is what bounds the guesses: with three codes right at any moment, 240 a day find one in four years.
 */
const wrongCodes: RatePolicy = { name: 'wrong-codes', limit: 10, windowSeconds: 3600 };

/** The second step of a sign-in: opens the session that the password alone did not. */
export async function logInWithCode(parts: CodeParts, body: TotpLoginBody, place: SignInPlace): Promise<OpenedSession> {
  const { database, clock } = parts;
  const proof = await readProof(parts, body);
  const { address } = place;
  const holder = await holderOf(database, { ticket: body.ticket, needs: 'totp', address, now: clock.now() });
  const { ticketId, user } = holder;
  const result = await counted(parts, { ...holder, address }, () =>
    database.transaction({ organizationId: user.organizationId }, async (tx) => {
      const secondFactor = await useProof(tx, parts, user, proof);
      if (secondFactor) {
        await takeTicket(tx, ticketId);
        return insertSession(tx, { user, place, secondFactor });
      }
      const goesOn = await countFailure(tx, ticketId);
      // Whoever got here knows the password.
      if (!goesOn) audit(tx, actorOf(user), { action: 'session.refuse_codes', target: { type: 'user', id: user.id } });
      return { refused: goesOn ? wrongCode() : ticketOver() };
    }),
  );
  return readOpened(database, result);
}

/** Where the organization requires a second factor and the user has none: the set-up begins. */
export async function beginEnrolment(
  { database, keyRing, clock }: CodeParts,
  { ticket, address }: { ticket: string; address: string },
): Promise<TotpEnrolment> {
  const { user } = await holderOf(database, { ticket, needs: 'enrolment', address, now: clock.now() });
  return database.transaction({ organizationId: user.organizationId }, (tx) => beginTotp(tx, keyRing, user));
}

/** Ends the set-up, and opens the session. */
export async function finishEnrolment(
  { database, keyRing, clock }: CodeParts,
  { ticket, code }: TicketCodeBody,
  place: SignInPlace,
): Promise<OpenedSession & { recoveryCodes: string[] }> {
  const { address } = place;
  const { ticketId, user } = await holderOf(database, { ticket, needs: 'enrolment', address, now: clock.now() });
  const result = await database.transaction({ organizationId: user.organizationId }, async (tx) => {
    const recoveryCodes = await confirmTotp(tx, keyRing, user, { code, ticketId });
    if (!recoveryCodes) return { refused: (await countFailure(tx, ticketId)) ? wrongCode() : ticketOver() };
    return { recoveryCodes, session: await insertSession(tx, { user, place, secondFactor: 'code' }) };
  });
  if ('refused' in result) throw result.refused;
  return { ...(await readOpened(database, result.session)), recoveryCodes: result.recoveryCodes };
}

/**
 * Counts a proof before it is looked at; one that is right is forgiven. An address that the account knows has a count
 * of its own, so that nobody who guesses elsewhere keeps the owner out.
 */
export async function counted<Done extends object>(
  { attempts }: Pick<CodeParts, 'attempts'>,
  { user, address, knowsAddress }: { user: Pick<FactorOwner, 'id'>; address: string; knowsAddress: boolean },
  prove: () => Promise<Done | { refused: AppError }>,
): Promise<Done> {
  const attempt = await attempts.begin(wrongCodes, [knowsAddress ? `known:${user.id}:${address}` : `user:${user.id}`]);
  const result = await prove().catch((error: unknown) => {
    // Nobody looked at it.
    attempt.forgive();
    throw error;
  });
  if ('refused' in result) throw result.refused;
  attempt.forgive();
  return result;
}

/** Of whichever proof: nothing is said of what was wrong about it. */
export function wrongCode(): AppError {
  return new AppError('unauthenticated', {
    detail: 'The code is wrong, or it was used before.',
    errors: [{ field: 'code', message: 'code is wrong or used' }],
  });
}
