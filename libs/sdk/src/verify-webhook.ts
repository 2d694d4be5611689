import { MusterError } from './muster-error';

export interface WebhookEvent<T = Record<string, unknown>> {
  type: string;
  timestamp: string;
  data: T;
}

export interface SignedDelivery {
  /** The endpoint's `whsec_…`; several while one takes over from another. */
  secret: string | string[];
  headers: Headers | Record<string, string | string[] | undefined>;
  /** The bytes as they came, before anybody has parsed them. */
  body: string | Uint8Array;
  /** Milliseconds; for tests. */
  now?: number;
}

const toleranceMs = 5 * 60_000;

/**
 * What one of our webhooks says, once its signature holds (Standard Webhooks). One that is older than five minutes is
 * refused, with whatever signature: it may be somebody's copy.
 */
export async function verifyWebhook<T = Record<string, unknown>>(delivery: SignedDelivery): Promise<WebhookEvent<T>> {
  const { secret, headers, body, now = Date.now() } = delivery;
  const header = (name: string) =>
    headerOf(headers, name) ?? refuse('webhook_headers', `The header ${name} is missing.`);
  const id = header('webhook-id');
  const timestamp = header('webhook-timestamp');
  const signatures = header('webhook-signature');
  if (!/^\d{1,12}$/.test(timestamp)) refuse('webhook_headers', 'webhook-timestamp is no number of seconds.');
  const ageMs = now - Number(timestamp) * 1000;
  if (Math.abs(ageMs) > toleranceMs) {
    refuse('webhook_too_old', 'It was not signed within the last five minutes; are both clocks right?');
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = concatenated(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  for (const each of [secret].flat()) {
    const key = await crypto.subtle.importKey('raw', keyBytes(each), { name: 'HMAC', hash: 'SHA-256' }, false, [
      'verify',
    ]);
    for (const signature of signatures.split(' ')) {
      const mac = signature.startsWith('v1,') ? fromBase64(signature.slice(3)) : undefined;
      // In constant time.
      if (mac && (await crypto.subtle.verify('HMAC', key, mac, signed))) {
        return JSON.parse(typeof body === 'string' ? body : new TextDecoder().decode(body)) as WebhookEvent<T>;
      }
    }
  }
  return refuse('webhook_signature', 'No signature of it is made with this secret; was the body changed on its way?');
}

function headerOf(headers: SignedDelivery['headers'], name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found.join(' ') : found;
}

function keyBytes(secret: string): Uint8Array<ArrayBuffer> {
  const bytes = secret.startsWith('whsec_') ? fromBase64(secret.slice('whsec_'.length)) : undefined;
  return bytes?.length
    ? bytes
    : refuse('webhook_secret', 'The secret is none of an endpoint: those begin with whsec_.');
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concatenated(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}

function refuse(code: string, detail: string): never {
  throw new MusterError(0, { code, detail });
}
