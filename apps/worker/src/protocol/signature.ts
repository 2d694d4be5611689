import { createHmac, timingSafeEqual } from 'node:crypto';

const toleranceSeconds = 5 * 60;

/**
 * Returns the signature `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<text>">`. The key of the HMAC is the text of the
 * secret.
 */
export function signText(secret: string, text: string | Buffer, now: number): string {
  const t = Math.floor(now / 1000);
  return `t=${t},v1=${computeDigest(secret, t, text)}`;
}

/** Returns when a header was signed, in milliseconds since 1970 by the signer's clock. */
export function parseSignatureTime(header: string): number | null {
  const seconds = /(?:^|,)\s*t=(\d{1,12})\s*(?:,|$)/.exec(header)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

export function verifySignature(
  secret: string,
  header: string | undefined,
  text: string | Buffer,
  now: number,
): boolean {
  const parts = (header ?? '').split(',').map((part) => part.trim());
  const stamps = parts.filter((part) => part.startsWith('t='));
  const t = stamps[0]?.slice(2) ?? '';
  if (stamps.length !== 1 || !/^\d{1,12}$/.test(t)) return false;
  if (Math.abs(now / 1000 - Number(t)) > toleranceSeconds) return false;
  const expected = Buffer.from(computeDigest(secret, Number(t), text));
  // Compares all signatures of the header, so that the duration does not reveal which of them matched.
  return parts
    .filter((part) => part.startsWith('v1='))
    .map((part) => Buffer.from(part.slice(3)))
    .map((actual) => actual.length === expected.length && timingSafeEqual(actual, expected))
    .includes(true);
}

function computeDigest(secret: string, t: number, text: string | Buffer): string {
  return createHmac('sha256', secret).update(`${t}.`).update(text).digest('hex');
}
