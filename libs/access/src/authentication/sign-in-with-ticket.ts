import { AppError, type TicketCodeBody, type TotpEnrolment, type TotpLoginBody } from '@muster/contracts';
import type { Database } from '@muster/database';
import type { Attempts, Clock, RatePolicy } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { audit } from '../audit/audit';
import { readSecondFactorProof, consumeSecondFactorProof } from '../second-factor/proofs';
import type { RelyingParty } from '../second-factor/relying-party';
import { toUserActor, startTotp, confirmTotp, type FactorOwner } from '../second-factor/second-factors';
import {
  type EmitBreakGlass,
  insertSession,
  type OpenedSession,
  readOpenedSession,
  type SignInClient,
} from './open-session';
import { countFailedCode, findTicketHolder, deleteTicket, invalidTicketError } from './tickets';

export interface CodeParts {
  database: Database;
  attempts: Attempts;
  keyRing: KeyRing;
  clock: Clock;
  /**
   * Returns the relying party. A function, because it throws if the service's address allows no passkeys, and it is
   * called only for a proof by passkey.
   */
  relyingParty: () => RelyingParty;
  emitBreakGlass: EmitBreakGlass;
}

/**
 * Maximum number of wrong codes of one account, over all tickets, addresses and sessions. A client that knows the
 * password can get any number of tickets, so only this limits the guesses. Three codes are valid at any time, so 240
 * guesses a day find one in about four years.
 */
const wrongCodes: RatePolicy = { name: 'wrong-codes', limit: 10, windowSeconds: 3600 };

/** The second step of a sign-in: opens the session after the password was checked. */
export async function logInWithCode(
  parts: CodeParts,
  body: TotpLoginBody,
  client: SignInClient,
): Promise<OpenedSession> {
  const { database, clock } = parts;
  const proof = await readSecondFactorProof(parts, body);
  const { address } = client;
  const holder = await findTicketHolder(database, { ticket: body.ticket, needs: 'totp', address, now: clock.now() });
  const { ticketId, user } = holder;
  const result = await runCountedAttempt(parts, { ...holder, address }, () =>
    database.transaction({ organizationId: user.organizationId }, async (tx) => {
      const secondFactor = await consumeSecondFactorProof(tx, parts, user, proof);
      if (secondFactor) {
        await deleteTicket(tx, ticketId);
        return insertSession(tx, { user, client, secondFactor, emitBreakGlass: parts.emitBreakGlass });
      }
      const isStillValid = await countFailedCode(tx, ticketId);
      // A client with a ticket knows the password, so the audit trail records that it has used up the attempts of the
      // ticket.
      if (!isStillValid)
        audit(tx, toUserActor(user), { action: 'session.refuse_codes', target: { type: 'user', id: user.id } });
      return { refused: isStillValid ? wrongCodeError() : invalidTicketError() };
    }),
  );
  return readOpenedSession(database, result, client);
}

/** Starts the setup for a user without a second factor whose organization requires one. */
export async function startFactorEnrolment(
  { database, keyRing, clock }: CodeParts,
  { ticket, address }: { ticket: string; address: string },
): Promise<TotpEnrolment> {
  const { user } = await findTicketHolder(database, { ticket, needs: 'enrolment', address, now: clock.now() });
  return database.transaction({ organizationId: user.organizationId }, (tx) => startTotp(tx, keyRing, user));
}

/** Completes the setup and opens the session. */
export async function finishFactorEnrolment(
  { database, keyRing, clock }: CodeParts,
  { ticket, code }: TicketCodeBody,
  client: SignInClient,
): Promise<OpenedSession & { recoveryCodes: string[] }> {
  const { address } = client;
  const { ticketId, user } = await findTicketHolder(database, {
    ticket,
    needs: 'enrolment',
    address,
    now: clock.now(),
  });
  const result = await database.transaction({ organizationId: user.organizationId }, async (tx) => {
    const recoveryCodes = await confirmTotp(tx, keyRing, user, { code, ticketId });
    if (!recoveryCodes)
      return { refused: (await countFailedCode(tx, ticketId)) ? wrongCodeError() : invalidTicketError() };
    return { recoveryCodes, session: await insertSession(tx, { user, client, secondFactor: 'code' }) };
  });
  if ('refused' in result) throw result.refused;
  return { ...(await readOpenedSession(database, result.session, client)), recoveryCodes: result.recoveryCodes };
}

/**
 * Counts an attempt before the proof is checked; if the proof is right, the attempt no longer counts. An address that
 * the account knows has a separate count, so that guesses from other addresses cannot lock the owner out.
 */
export async function runCountedAttempt<Done extends object>(
  { attempts }: Pick<CodeParts, 'attempts'>,
  { user, address, knowsAddress }: { user: Pick<FactorOwner, 'id'>; address: string; knowsAddress: boolean },
  prove: () => Promise<Done | { refused: AppError }>,
): Promise<Done> {
  const attempt = await attempts.countAttempt(wrongCodes, [
    knowsAddress ? `known:${user.id}:${address}` : `user:${user.id}`,
  ]);
  const result = await prove().catch((error: unknown) => {
    // The proof was not checked, so the attempt does not count as a failure.
    attempt.forgive();
    throw error;
  });
  if ('refused' in result) throw result.refused;
  attempt.forgive();
  return result;
}

/** Returns the error for a wrong proof of any kind. The error does not reveal what was wrong. */
export function wrongCodeError(): AppError {
  return new AppError('unauthenticated', {
    detail: 'The code is wrong, or it was used before.',
    errors: [{ field: 'code', message: 'code is wrong or used' }],
  });
}
