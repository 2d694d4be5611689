import { createHmac } from 'node:crypto';
import { type AppError, invalidFieldError } from '@muster/contracts';
import { equalsInConstantTime } from '../authentication/credentials';

/** The parameters of a vault entry of kind totp (RFC 6238). */
export interface Totp {
  secret: Buffer;
  algorithm: 'sha1' | 'sha256' | 'sha512';
  digits: number;
  periodSeconds: number;
}

const algorithms = ['sha1', 'sha256', 'sha512'] as const;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Reads a base32 secret or an otpauth:// URI. Throws invalid_payload for anything else. */
export function parseTotpSecret(value: string): Totp {
  const text = value.trim();
  if (!/^otpauth:/i.test(text)) {
    return { secret: decodeBase32(text), algorithm: 'sha1', digits: 6, periodSeconds: 30 };
  }
  const uri = URL.canParse(text) ? new URL(text) : null;
  if (uri?.host.toLowerCase() !== 'totp') throw invalidTotpSecretError('the URI must start with otpauth://totp/');
  const { searchParams } = uri;
  const algorithm = (searchParams.get('algorithm') ?? 'SHA1').toLowerCase().replace('-', '') as Totp['algorithm'];
  const digits = Number(searchParams.get('digits') ?? 6);
  const periodSeconds = Number(searchParams.get('period') ?? 30);
  if (!algorithms.includes(algorithm)) throw invalidTotpSecretError('the algorithm must be SHA1, SHA256 or SHA512');
  if (![6, 7, 8].includes(digits)) throw invalidTotpSecretError('digits must be 6, 7 or 8');
  if (!Number.isInteger(periodSeconds) || periodSeconds < 1 || periodSeconds > 86_400) {
    throw invalidTotpSecretError('period must be 1 to 86,400 seconds');
  }
  return { secret: decodeBase32(searchParams.get('secret') ?? ''), algorithm, digits, periodSeconds };
}

/** Returns the code of a time window. The windows are counted from 1970. */
export function computeTotpCode({ secret, algorithm, digits }: Totp, counter: number): string {
  const moment = Buffer.alloc(8);
  moment.writeBigUInt64BE(BigInt(counter));
  const mac = createHmac(algorithm, secret).update(moment).digest();
  const offset = mac.at(-1)! & 0xf;
  const number = mac.readUInt32BE(offset) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

/**
 * Returns the window of a code: the current one or, as clocks differ, the one before or after it. Null if none fits.
 */
export function findMatchingWindow(totp: Totp, code: string, now: Date): number | null {
  const current = Math.floor(now.getTime() / (totp.periodSeconds * 1000));
  return (
    [current, current - 1, current + 1].find((counter) => equalsInConstantTime(computeTotpCode(totp, counter), code)) ??
    null
  );
}

export function encodeBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[parseInt(five.padEnd(5, '0'), 2)]).join('');
}

function decodeBase32(text: string): Buffer {
  const letters = text.toUpperCase().replace(/[\s-]/g, '').replace(/=+$/, '');
  if (!/^[A-Z2-7]{8,1024}$/.test(letters))
    throw invalidTotpSecretError('the secret must be base32 with at least 8 characters');
  const bits = [...letters].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
}

function invalidTotpSecretError(message: string): AppError {
  return invalidFieldError('value', message, `The value is not a valid TOTP secret: ${message}.`);
}
