import { openEnvelope, sealValue } from './envelope';
import type { KeyRing } from './key-ring';

/** An envelope for JSON: its bytes are base64. */
export interface SealedText {
  masterKeyId: string;
  wrappedKey: string;
  sealed: string;
}

/** Encrypts a value like `sealValue`, but returns a text that can be stored in JSON. */
export function sealText(keyRing: KeyRing, associatedData: string, value: string): SealedText {
  const { masterKeyId, wrappedKey, sealed } = sealValue(keyRing, associatedData, value);
  return { masterKeyId, wrappedKey: wrappedKey.toString('base64'), sealed: sealed.toString('base64') };
}

/** Decrypts a text that `sealText` returned. */
export function openText(
  keyRing: KeyRing,
  associatedData: string,
  { masterKeyId, wrappedKey, sealed }: SealedText,
): string {
  return openEnvelope(keyRing, associatedData, {
    masterKeyId,
    wrappedKey: Buffer.from(wrappedKey, 'base64'),
    sealed: Buffer.from(sealed, 'base64'),
  });
}

export function isSealedText(value: unknown): value is SealedText {
  const { masterKeyId, wrappedKey, sealed } = (value ?? {}) as Partial<SealedText>;
  return [masterKeyId, wrappedKey, sealed].every((part) => typeof part === 'string');
}
