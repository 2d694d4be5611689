import { type KeyRing, open, seal } from '@muster/vault';

interface Sealed {
  masterKeyId: string;
  wrappedKey: string;
  sealed: string;
}

/** What of a command's payload nobody may read at rest, to be stored in its place. */
export function sealPayload(keyRing: KeyRing, agentId: string, secrets: Record<string, string>): { sealed: Sealed } {
  const { masterKeyId, wrappedKey, sealed } = seal(keyRing, placeOf(agentId), JSON.stringify(secrets));
  return { sealed: { masterKeyId, wrappedKey: wrappedKey.toString('base64'), sealed: sealed.toString('base64') } };
}

/** The payload as its agent gets it; opened for the moment of delivery. */
export function openPayload(
  keyRing: KeyRing,
  agentId: string,
  payload: Record<string, unknown>,
): Record<string, unknown> {
  const { sealed: found, ...rest } = payload;
  if (!isSealed(found)) return payload;
  const { masterKeyId, wrappedKey, sealed } = found;
  const text = open(keyRing, placeOf(agentId), {
    masterKeyId,
    wrappedKey: Buffer.from(wrappedKey, 'base64'),
    sealed: Buffer.from(sealed, 'base64'),
  });
  return { ...rest, ...(JSON.parse(text) as Record<string, string>) };
}

function isSealed(value: unknown): value is Sealed {
  return typeof value === 'object' && value !== null && 'masterKeyId' in value && 'wrappedKey' in value;
}

/** Taken to another agent's command, it stays shut. */
function placeOf(agentId: string): string {
  return `command/${agentId}`;
}
