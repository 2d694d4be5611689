import { isSealedText, type KeyRing, openText, type SealedText, sealText } from '@muster/vault';

/** Encrypts the secret part of a command's payload, so that it is never stored as plain text. */
export function sealPayload(
  keyRing: KeyRing,
  agentId: string,
  secrets: Record<string, string>,
): { sealed: SealedText } {
  return { sealed: sealText(keyRing, associatedDataOf(agentId), JSON.stringify(secrets)) };
}

/** Decrypts the secret part of a command's payload for the delivery to its agent. */
export function openPayload(
  keyRing: KeyRing,
  agentId: string,
  payload: Record<string, unknown>,
): Record<string, unknown> {
  const { sealed, ...rest } = payload;
  if (!isSealedText(sealed)) return payload;
  const text = openText(keyRing, associatedDataOf(agentId), sealed);
  return { ...rest, ...(JSON.parse(text) as Record<string, string>) };
}

/**
 * Returns the associated data of the encryption, which contains the agent's id: the payload cannot be decrypted in a
 * command of another agent.
 */
function associatedDataOf(agentId: string): string {
  return `command/${agentId}`;
}
