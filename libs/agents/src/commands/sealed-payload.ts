import { isSealedText, type KeyRing, openText, type SealedText, sealText } from '@muster/vault';

/** Encrypts the secret part of a command's payload, so that it is never stored as plain text. */
export function sealPayload(
  keyRing: KeyRing,
  agentId: string,
  secrets: Record<string, string>,
): { sealed: SealedText } {
  return { sealed: sealText(keyRing, placeOf(agentId), JSON.stringify(secrets)) };
}

/** Decrypts the payload for a delivery to its agent. */
export function openPayload(
  keyRing: KeyRing,
  agentId: string,
  payload: Record<string, unknown>,
): Record<string, unknown> {
  const { sealed, ...rest } = payload;
  if (!isSealedText(sealed)) return payload;
  const text = openText(keyRing, placeOf(agentId), sealed);
  return { ...rest, ...(JSON.parse(text) as Record<string, string>) };
}

/** Binds the ciphertext to the agent: it cannot be decrypted in another agent's command. */
function placeOf(agentId: string): string {
  return `command/${agentId}`;
}
