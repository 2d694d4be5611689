import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { MasterKey } from '@muster/platform';
import type { KeyRing } from './key-ring';

export interface Envelope {
  masterKeyId: string;
  wrappedKey: Buffer;
  sealed: Buffer;
}

/** Encrypts a value with a new data key, and the data key with the active master key. */
export function sealValue(keyRing: KeyRing, associatedData: string, value: string): Envelope {
  const dataKey = randomBytes(32);
  return {
    ...wrapDataKey(keyRing.activeKey, associatedData, dataKey),
    sealed: encryptBytes(dataKey, associatedData, Buffer.from(value, 'utf8')),
  };
}

/** Decrypts a value. Throws if the associated data differs from that of `sealValue`, or if the envelope was changed. */
export function openEnvelope(keyRing: KeyRing, associatedData: string, envelope: Envelope): string {
  return decryptBytes(unwrapDataKey(keyRing, associatedData, envelope), associatedData, envelope.sealed).toString(
    'utf8',
  );
}

/** Encrypts the data key again with the active master key; returns null if it already is. */
export function rewrapEnvelope(keyRing: KeyRing, associatedData: string, envelope: Envelope): Envelope | null {
  if (envelope.masterKeyId === keyRing.activeKey.id) return null;
  const dataKey = unwrapDataKey(keyRing, associatedData, envelope);
  return { ...wrapDataKey(keyRing.activeKey, associatedData, dataKey), sealed: envelope.sealed };
}

function wrapDataKey(master: MasterKey, associatedData: string, dataKey: Buffer) {
  return { masterKeyId: master.id, wrappedKey: encryptBytes(master.key, associatedData, dataKey) };
}

function unwrapDataKey(keyRing: KeyRing, associatedData: string, { masterKeyId, wrappedKey }: Envelope): Buffer {
  const master = keyRing.findKey(masterKeyId);
  if (!master) throw new Error(`the master key ${masterKeyId} is not in the ring`);
  return decryptBytes(master.key, associatedData, wrappedKey);
}

/** Creates a data key for many values. It must itself be sealed before it is stored. */
export function generateDataKey(): Buffer {
  return randomBytes(32);
}

/** Encrypts a text with a data key. The result is base64. */
export function encryptText(dataKey: Buffer, associatedData: string, text: string): string {
  return encryptBytes(dataKey, associatedData, Buffer.from(text, 'utf8')).toString('base64');
}

/** Decrypts a text that `encryptText` returned. Throws if the text or the associated data was changed. */
export function decryptText(dataKey: Buffer, associatedData: string, encrypted: string): string {
  return decryptBytes(dataKey, associatedData, Buffer.from(encrypted, 'base64')).toString('utf8');
}

const nonceLength = 12;
const tagLength = 16;

/** Returns the nonce, the tag and the ciphertext, in this order. */
function encryptBytes(key: Buffer, associatedData: string, plain: Buffer): Buffer {
  const nonce = randomBytes(nonceLength);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associatedData));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

function decryptBytes(key: Buffer, associatedData: string, sealed: Buffer): Buffer {
  const nonce = sealed.subarray(0, nonceLength);
  const tag = sealed.subarray(nonceLength, nonceLength + tagLength);
  const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagLength });
  decipher.setAAD(Buffer.from(associatedData)).setAuthTag(tag);
  return Buffer.concat([decipher.update(sealed.subarray(nonceLength + tagLength)), decipher.final()]);
}
