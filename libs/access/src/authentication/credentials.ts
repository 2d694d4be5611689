import { hash as digest, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';

const apiKeyPattern = /^msk_([a-z0-9]{8,32})_[A-Za-z0-9_-]{16,256}$/;
const ticketPattern = /^mst_([0-9a-f-]{36})_[A-Za-z0-9_-]{32,64}$/;
const sessionPattern = /^mse_([0-9a-f-]{36})_[A-Za-z0-9_-]{32,64}$/;

/** Creates an API key. Its id may be shown at any time; the full key is shown once. */
export function generateApiKey(): { id: string; secret: string } {
  const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
  const id = Array.from({ length: 12 }, () => letters[randomInt(letters.length)]).join('');
  return { id, secret: `msk_${id}_${randomBytes(32).toString('base64url')}` };
}

export function generateSessionToken(id: string): string {
  return `mse_${id}_${randomBytes(32).toString('base64url')}`;
}

export function generateTicketToken(id: string): string {
  return `mst_${id}_${randomBytes(32).toString('base64url')}`;
}

export function parseApiKeyId(key: string): string | null {
  return apiKeyPattern.exec(key)?.[1] ?? null;
}

export function parseSessionId(token: string): string | null {
  return sessionPattern.exec(token)?.[1] ?? null;
}

export function parseTicketId(token: string): string | null {
  return ticketPattern.exec(token)?.[1] ?? null;
}

/** Returns the SHA-256 of a random secret. A password needs a slow hash instead (argon2). */
export function sha256Hex(text: string): string {
  return digest('sha256', text);
}

export function equalsInConstantTime(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}
