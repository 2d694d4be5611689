import { MusterError } from './muster-error';

export interface WebhookEvent<T = Record<string, unknown>> {
  type: string;
  timestamp: string;
  data: T;
}

export interface SignedDelivery {
  /** Secret of the endpoint, `whsec_…`. Pass both secrets while a secret is rotated. */
  secret: string | string[];
  headers: Headers | Record<string, string | string[] | undefined>;
  /** The unparsed request body. */
  body: string | Uint8Array;
  /** Current time in milliseconds. Only for tests. */
  now?: number;
}

const toleranceMs = 5 * 60_000;

/**
 * Verifies the signature of a webhook (Standard Webhooks) and returns its event. Throws if the signature is invalid, or
 * if the timestamp differs from the current time by more than five minutes, because it can be a replay.
 */
export async function verifyWebhook<T = Record<string, unknown>>(delivery: SignedDelivery): Promise<WebhookEvent<T>> {
  const { secret, headers, body, now = Date.now() } = delivery;
  const requireHeader = (name: string) =>
    findHeader(headers, name) ?? throwRejection('webhook_headers', `The header ${name} is missing.`);
  const id = requireHeader('webhook-id');
  const timestamp = requireHeader('webhook-timestamp');
  const signatures = requireHeader('webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp))
    throwRejection('webhook_headers', 'The header webhook-timestamp is not a number of seconds.');
  const ageMs = now - Number(timestamp) * 1000;
  if (Math.abs(ageMs) > toleranceMs) {
    throwRejection(
      'webhook_too_old',
      'The webhook was not signed within the last five minutes. Check the clocks of both machines.',
    );
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = concatenateBytes(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  for (const each of [secret].flat()) {
    const key = await crypto.subtle.importKey('raw', decodeSecret(each), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    for (const signature of signatures.split(' ')) {
      const mac = signature.startsWith('v1,') ? decodeBase64(signature.slice(3)) : undefined;
      // crypto.subtle.verify compares in constant time.
      if (mac && (await crypto.subtle.verify('HMAC', key, mac, signed))) {
        return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as WebhookEvent<T>;
      }
    }
  }
  return throwRejection(
    'webhook_signature',
    'No signature matches the secret and the body. Pass the unparsed body and the secret of this endpoint.',
  );
}

function findHeader(headers: SignedDelivery['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found.join(' ') : found;
}

function decodeSecret(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith('whsec_') ? decodeBase64(secret.slice('whsec_'.length)) : undefined;
  return bytes?.length
    ? bytes
    : throwRejection('webhook_secret', 'The secret is not valid. The secret of an endpoint starts with whsec_.');
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenateBytes(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function throwRejection(code: string, detail: string): never {
  throw new MusterError(0, { code, detail });
}
