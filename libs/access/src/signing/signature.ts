import { createHmac, timingSafeEqual } from 'node:crypto';

export const signatureHeader = 'x-service-signature';
const toleranceSeconds = 300;

/** Returns `t=<unix seconds>,v1=<hex>`: an HMAC of `<t>.<text>`, with one v1 per secret during a rotation. */
export function signText(secrets: readonly string[], text: string | Buffer, now: Date): string {
  const t = Math.floor(now.getTime() / 1000);
  return [`t=${t}`, ...secrets.map((secret) => `v1=${computeSignatureMac(secret, t, text).toString('hex')}`)].join(',');
}

export type Verdict = 'valid' | 'missing' | 'malformed' | 'expired' | 'wrong';

/**
 * Verifies in constant time whether one of the secrets made the signature within the tolerance. Returns the reason if
 * not.
 */
export function checkSignature(
  secrets: readonly string[],
  header: string | undefined,
  text: string | Buffer,
  now: Date,
): Verdict {
  if (!header) return 'missing';
  const parts = splitSignatureHeader(header);
  const t = findSignatureTimestamp(parts);
  const signatures = parts.filter(([name, value]) => name === 'v1' && /^[0-9a-f]{64}$/.test(value ?? ''));
  if (!Number.isSafeInteger(t) || signatures.length === 0 || signatures.length > 8) return 'malformed';
  if (Math.abs(now.getTime() / 1000 - t) > toleranceSeconds) return 'expired';
  let matches = false;
  for (const secret of secrets) {
    const expected = computeSignatureMac(secret, t, text);
    for (const [, value] of signatures) {
      if (timingSafeEqual(Buffer.from(value!, 'hex'), expected)) matches = true;
    }
  }
  return matches ? 'valid' : 'wrong';
}

/** Returns the time of a signature that is known to be valid. */
export function readSignatureTime(header: string): Date {
  return new Date(findSignatureTimestamp(splitSignatureHeader(header)) * 1000);
}

function splitSignatureHeader(header: string): string[][] {
  return header.split(',').map((part) => part.trim().split('='));
}

function findSignatureTimestamp(parts: string[][]): number {
  return Number(parts.find(([name]) => name === 't')?.[1]);
}

function computeSignatureMac(secret: string, t: number, text: string | Buffer): Buffer {
  return createHmac('sha256', secret).update(`${t}.`).update(text).digest();
}
