import { listSecretForms, buildFormsPattern, shortestSecret } from '@muster/contracts/secrets';
import type { Database } from '@muster/database';
import { isUuid } from '@muster/platform';
import type { KeyRing } from '@muster/vault';
import { listSecretsForAgent, deriveSigningSecrets } from '../signing/signing-secrets';
import { decryptAllSecrets } from './secrets';

export interface Hidden {
  text(value: string): string;
  /** Hides secrets in all texts of a JSON value, including its keys. */
  deep<T>(value: T): T;
}

const credentials = /\bms[kes]_[A-Za-z0-9_-]{16,}/g;

/**
 * Hides the values of the organization's vault, its signing secrets, those of the agent whose output is shown, and
 * everything in the format of our credentials.
 */
export async function loadSecretRedactor(
  { database, keyRing }: { database: Database; keyRing: KeyRing },
  { organizationId, agentId }: { organizationId: string; agentId: string | null },
): Promise<Hidden> {
  const values = await decryptAllSecrets(database, keyRing, organizationId);
  const signing = agentId
    ? listSecretsForAgent(keyRing, { organizationId, agentId })
    : deriveSigningSecrets(keyRing, organizationId);
  return createSecretRedactor([...values, ...signing]);
}

/** `mark` takes the place of each secret. */
export function createSecretRedactor(secrets: readonly string[], mark = '[secret]'): Hidden {
  const forms = [...new Set(secrets.flatMap(listSecretForms))]
    .filter((form) => form.length >= shortestSecret)
    .sort((a, b) => b.length - a.length);
  const secretPattern = forms.length ? new RegExp(buildFormsPattern(forms), 'g') : null;
  const redactText = (value: string): string => {
    const without = secretPattern ? value.replace(secretPattern, mark) : value;
    return without.replace(credentials, mark);
  };
  const redactDeep = (value: unknown): unknown => {
    // A PIN can be a JSON number. Ids and times are not hidden just because they contain its digits.
    if (typeof value === 'number') return secrets.includes(String(value)) ? mark : value;
    if (typeof value === 'string') return isUuid(value) && !secrets.includes(value) ? value : redactText(value);
    if (Array.isArray(value)) return value.map(redactDeep);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [redactText(key), redactDeep(each)]));
  };
  return { text: redactText, deep: redactDeep as Hidden['deep'] };
}
