import { createHmac, timingSafeEqual } from 'node:crypto';

/** Whether the body’s signature was made with one of the secrets; compared in constant time. False without a secret. */
export function hasValidSignature(secrets: string | undefined, signature: string | undefined, bytes: Buffer): boolean {
  const received = /^[0-9a-f]{64}$/i.test(signature ?? '') ? Buffer.from(signature!, 'hex') : null;
  let isValid = false;
  for (const secret of (secrets ?? '').split(',').map((each) => each.trim())) {
    if (!secret || !received) continue;
    if (timingSafeEqual(createHmac('sha256', secret).update(bytes).digest(), received)) isValid = true;
  }
  return isValid;
}
