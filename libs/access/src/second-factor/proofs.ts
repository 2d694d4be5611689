import { invalidFieldError, type SecondFactorProof } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import type { Clock } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { type PasskeyAnswer, consumePasskeyResponse } from './passkey-challenges';
import { verifyAndUpdatePasskey } from './passkeys';
import type { RelyingParty } from './relying-party';
import { type FactorOwner, lockAndReadTotpSetupTime, consumeSecondFactorCode } from './second-factors';

export type Proof = Omit<SecondFactorProof, 'passkey' | 'response'> & { passkey?: PasskeyAnswer };

/** Reads the proof of a request. Throws invalid_payload unless there is exactly one. Deletes a passkey's challenge. */
export async function readSecondFactorProof(
  { database, clock }: { database: Database; clock: Clock },
  { code, recoveryCode, ...sent }: SecondFactorProof,
): Promise<Proof> {
  if ([code, recoveryCode, sent.passkey, sent.response].filter((each) => each !== undefined).length !== 1) {
    throw invalidFieldError(
      'code',
      'one of code, recoveryCode and passkey is required',
      'Send either a code, a recoveryCode or a passkey.',
    );
  }
  const passkey = sent.passkey ?? sent.response;
  if (!passkey) return { code, recoveryCode };
  return {
    passkey: await consumePasskeyResponse(database, passkey, { field: 'passkey', userId: null, now: clock.now() }),
  };
}

/**
 * Uses up a proof, which is valid only once. Returns its kind, or null if it is wrong. The user's row is locked first,
 * so that of two requests with the same code the second one finds it used.
 */
export async function consumeSecondFactorProof(
  tx: Transaction,
  { keyRing, relyingParty }: { keyRing: KeyRing; relyingParty: () => RelyingParty },
  owner: FactorOwner,
  { passkey, ...codes }: Proof,
): Promise<'code' | 'recoveryCode' | 'passkey' | null> {
  if (!(await lockAndReadTotpSetupTime(tx, owner.id))) return null;
  if (!passkey) return consumeSecondFactorCode(tx, keyRing, owner, codes);
  return (await verifyAndUpdatePasskey(tx, relyingParty(), owner, passkey)) ? 'passkey' : null;
}
