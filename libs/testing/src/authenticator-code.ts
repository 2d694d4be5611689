import { createHmac } from 'node:crypto';

/**
 * Returns the code that an authenticator app shows for a base32 secret (RFC 6238), or the code a number of windows
 * later or earlier.
 */
export function computeAuthenticatorCode(
  secret: string,
  at: Date,
  windows = 0,
  { periodSeconds = 30, digits = 6 } = {},
): string {
  const moment = Buffer.alloc(8);
  moment.writeBigUInt64BE(BigInt(Math.floor(at.getTime() / 1000 / periodSeconds) + windows));
  const bits = [...secret].map((c) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(c).toString(2).padStart(5, '0'));
  const key = Buffer.from((bits.join('').match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)));
  const mac = createHmac('sha1', key).update(moment).digest();
  return String((mac.readUInt32BE(mac.at(-1)! & 15) & 0x7fffffff) % 10 ** digits).padStart(digits, '0');
}
