import { findTotpKeys, generateVaultTotp } from '@muster/access';
import { AppError } from '@muster/contracts';
import { readCodeOfSession } from '@muster/jobs';
import { findPlaceholders } from '../steps/check-actions';
import type { Work } from '../steps/work';

/** Name of the placeholder for the code that a person gave to the session. No variable can have this name. */
export const personCodeName = 'one-time-code';
const totpPrefix = 'totp:';

/**
 * Minimum remaining validity of a TOTP code in milliseconds when an attempt gets it. It is longer than for a script,
 * because the attempt types the code only after its earlier actions.
 */
const minValidMs = 10_000;

/** Whether a text contains the placeholder of a person's one-time code. */
export function usesPersonCode(text: string | null): boolean {
  return findPlaceholders(text ?? '').includes(personCodeName);
}

/**
 * Returns the names of the secrets that the actions of a step may contain: the vault keys, with a prefix for those that
 * only have codes, and the code that a person gave for the step.
 */
export async function listSecretNames(
  { tx, session: { organizationId, vaultKeys } }: Pick<Work, 'tx' | 'session'>,
  instruction: string | null,
): Promise<string[]> {
  const totpKeys = await findTotpKeys(tx, organizationId, vaultKeys);
  return [
    ...vaultKeys.map((key) => (totpKeys.includes(key) ? `${totpPrefix}${key}` : key)),
    ...(usesPersonCode(instruction) ? [personCodeName] : []),
  ];
}

/**
 * Returns the codes for the placeholders in the actions or the code of an attempt, by name, and the time until all of
 * them are valid. A placeholder without a code is left out, so that the attempt fails with an error about it.
 */
export async function readCodesOfAttempt(
  { tx, keyRing, session }: Work,
  text: string,
): Promise<{ codes: Record<string, string>; codesAfterMs: number }> {
  const { id: sessionId, organizationId, vaultKeys } = session;
  const codes: Record<string, string> = {};
  let codesAfterMs = 0;
  for (const name of new Set(findPlaceholders(text))) {
    if (name === personCodeName) {
      const code = await readCodeOfSession(tx, keyRing, sessionId);
      if (code !== null) codes[name] = code;
    }
    const key = name.startsWith(totpPrefix) ? name.slice(totpPrefix.length).trim() : '';
    if (!vaultKeys.includes(key)) continue;
    const caller = { kind: 'system', id: 'autopilot', organizationId } as const;
    const issued = await generateVaultTotp(tx, keyRing, caller, { key, holder: { sessionId }, minValidMs }).catch(
      (error: unknown) => {
        // An admin has deleted the secret since the session started.
        if (error instanceof AppError && error.code === 'not_found') return null;
        throw error;
      },
    );
    if (!issued) continue;
    codes[name] = issued.code;
    codesAfterMs = Math.max(codesAfterMs, issued.validFrom.getTime() - tx.now.getTime());
  }
  return { codes, codesAfterMs };
}
