import { createHash, createHmac, createPublicKey, timingSafeEqual, verify as verifySignature } from 'node:crypto';
import { checkSignature } from '@muster/access';
import type { InboundKeys } from './inbound-codes';

export interface Message {
  from: string;
  text: string;
  /** Hash that identifies the message; it is equal if the gateway sends the message again. */
  fingerprint: string;
}

/** The HTTP request that an SMS or mail gateway sent, unchanged. */
export interface Posted {
  url: string;
  contentType: string;
  bytes: Buffer;
  header(name: string): string | undefined;
}

const toleranceSeconds = 300;

/**
 * Reads the message in a gateway's request and verifies its signature. The form of the signature shows which gateway
 * sent it. Returns null if the signature is not valid, or if the address has no key of that gateway.
 */
export async function parseInboundMessage(
  posted: Posted,
  { secret, gatewayKeys: { twilio, mailgun, sendgrid } }: InboundKeys,
  now: Date,
): Promise<Message | null> {
  if (/^\s*application\/json\b/i.test(posted.contentType)) return parseJsonMessage(posted, secret, now);
  const form = await parseUrlEncodedForm(posted);
  if (!form) return null;
  if (posted.header('x-twilio-signature')) return twilio ? parseTwilioMessage(posted, form, twilio) : null;
  if (posted.header('x-twilio-email-event-webhook-signature'))
    return sendgrid ? parseSendGridMessage(posted, form, { secret: sendgrid, now }) : null;
  return mailgun ? parseMailgunMessage(form, mailgun, now) : null;
}

/** Reads a message in the service's own format: JSON with a signature of the service's scheme. */
function parseJsonMessage({ bytes, header }: Posted, secret: string, now: Date): Message | null {
  const signature = header('x-service-signature');
  if (checkSignature([secret], signature, bytes, now) !== 'valid') return null;
  const { from, text } = parseJsonObject(bytes) as { from?: unknown; text?: unknown };
  return { from: textOrEmpty(from), text: textOrEmpty(text), fingerprint: sha256Hex(signature!) };
}

/**
 * Reads a message of Twilio, which signs the URL and all fields in the order of their names by HMAC-SHA1 with the
 * account's token.
 */
function parseTwilioMessage({ url, header }: Posted, form: Map<string, string>, secret: string): Message | null {
  const fields = [...form].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const signed = url + fields.map(([name, value]) => name + value).join('');
  const expected = createHmac('sha1', secret).update(signed, 'utf8').digest();
  if (!equalsInConstantTime(Buffer.from(header('x-twilio-signature')!, 'base64'), expected)) return null;
  const id = form.get('MessageSid') ?? form.get('SmsMessageSid') ?? form.get('SmsSid') ?? signed;
  return { from: form.get('From') ?? '', text: form.get('Body') ?? '', fingerprint: sha256Hex(id) };
}

/**
 * Reads a message of Mailgun, which signs the timestamp and the token by HMAC-SHA256 with the account's signing key.
 */
function parseMailgunMessage(form: Map<string, string>, secret: string, now: Date): Message | null {
  const [timestamp, token, signature] = ['timestamp', 'token', 'signature'].map((name) => form.get(name) ?? '');
  const expected = createHmac('sha256', secret)
    .update(timestamp! + token!)
    .digest();
  if (!token || !equalsInConstantTime(Buffer.from(signature!, 'hex'), expected) || !isRecentTimestamp(timestamp!, now))
    return null;
  const text = [form.get('subject'), form.get('stripped-text') ?? form.get('body-plain')].filter(Boolean).join('\n');
  return {
    from: extractEmailAddress(form.get('from') ?? form.get('sender') ?? ''),
    text,
    fingerprint: sha256Hex(token),
  };
}

/**
 * Reads a message of SendGrid, which signs the timestamp and the body by ECDSA; the stored secret is the public key.
 */
function parseSendGridMessage(
  { bytes, header }: Posted,
  form: Map<string, string>,
  { secret, now }: { secret: string; now: Date },
): Message | null {
  const signature = header('x-twilio-email-event-webhook-signature')!;
  const timestamp = header('x-twilio-email-event-webhook-timestamp') ?? '';
  if (!isRecentTimestamp(timestamp, now)) return null;
  try {
    const key = createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' });
    const signed = Buffer.concat([Buffer.from(timestamp), bytes]);
    if (!verifySignature('sha256', signed, key, Buffer.from(signature, 'base64'))) return null;
  } catch {
    // An error means that the stored secret is not a public key. The signature is then not valid.
    return null;
  }
  const text = [form.get('subject'), form.get('text') ?? form.get('html')?.replace(/<[^>]*>/g, ' ')].join('\n');
  return { from: extractEmailAddress(form.get('from') ?? ''), text, fingerprint: sha256Hex(signature) };
}

/**
 * Returns the code in a text: the first group of the pattern, or the whole match if the pattern has no group. Without a
 * pattern, the code is a word of 4 to 8 digits.
 */
export function findCodeInText(text: string, pattern: string | null): string | null {
  const found = pattern === null ? /(?<!\w)(\d{4,8})(?!\w)/.exec(text) : new RegExp(pattern, 'u').exec(text);
  const code = found?.[1] ?? found?.[0] ?? null;
  return code !== null && /^[A-Za-z0-9]{4,10}$/.test(code) ? code : null;
}

async function parseUrlEncodedForm({ contentType, bytes }: Posted): Promise<Map<string, string> | null> {
  if (!/^\s*(application\/x-www-form-urlencoded|multipart\/form-data)\b/i.test(contentType)) return null;
  try {
    const form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': contentType } }).formData();
    const fields = [...form.entries()].flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, value] as const] : [],
    );
    return new Map(fields);
  } catch {
    return null;
  }
}

function isRecentTimestamp(timestamp: string, now: Date): boolean {
  return /^\d{1,12}$/.test(timestamp) && Math.abs(now.getTime() / 1000 - Number(timestamp)) <= toleranceSeconds;
}

function equalsInConstantTime(actual: Buffer, expected: Buffer): boolean {
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

/** Returns the address between the brackets, such as `codes@payer.example` in `Payer <codes@payer.example>`. */
function extractEmailAddress(from: string): string {
  return /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from.trim();
}

function parseJsonObject(bytes: Buffer): object {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
