import type { KeyRing } from '@muster/vault';

/** An organization's signing secrets, the active one first: derived, so there is nothing to store or to leak. */
export function signingSecretsOf(keyRing: KeyRing, organizationId: string): string[] {
  return keyRing.derive('signing-secret', organizationId).map((secret) => `mss_${secret.toString('base64url')}`);
}
