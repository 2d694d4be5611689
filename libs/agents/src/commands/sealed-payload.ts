import { isSealedText, type KeyRing, openText, type SealedText, sealText } from '@muster/vault';

/** What of a command's payload nobody may read at rest, to be stored in its place. */
export function sealPayload(
  keyRing: KeyRing,
  agentId: string,
  secrets: Record<string, string>,
): { sealed: SealedText } {
  return { sealed: sealText(keyRing, placeOf(agentId), JSON.stringify(secrets)) };
}

/** The payload as its agent gets it; opened for the moment of delivery. */
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

/** Taken to another agent's command, it stays shut. */
function placeOf(agentId: string): string {
  return `command/${agentId}`;
}
