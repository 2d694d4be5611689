import { isSealedText, type KeyRing, openText, type SealedText, sealText } from '@muster/vault';

/** Encrypts the secret part of a command's payload, so that it is never stored as plain text. */
export function encryptSecrets(
  keyRing: KeyRing,
  agentId: string,
  secrets: Record<string, unknown>,
): { sealed: SealedText } {
  return { sealed: sealText(keyRing, buildAssociatedData(agentId), JSON.stringify(secrets)) };
}

/** Decrypts the secret part of a command's payload for the delivery to its agent. */
export function decryptPayload(
  keyRing: KeyRing,
  agentId: string,
  payload: Record<string, unknown>,
): Record<string, unknown> {
  const { sealed, ...rest } = payload;
  if (!isSealedText(sealed)) return payload;
  const text = openText(keyRing, buildAssociatedData(agentId), sealed);
  return { ...rest, ...(JSON.parse(text) as Record<string, unknown>) };
}

/**
 * Returns the associated data of the encryption, which contains the agent's id: the payload cannot be decrypted in a
 * command of another agent.
 */
function buildAssociatedData(agentId: string): string {
  return `command/${agentId}`;
}
