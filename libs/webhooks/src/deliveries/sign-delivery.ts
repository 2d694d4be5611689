import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';

/** A new secret, as Standard Webhooks writes one: `whsec_` and the base64 of 32 bytes. */
export function newSecret(): string {
  return prefix + randomBytes(32).toString('base64');
}

/** The headers of one attempt; with a signature by each secret that holds, the newest first. */
export function signedHeaders(
  { id, body, at }: { id: string; body: string; at: Date },
  secrets: readonly string[],
): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(prefix.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
