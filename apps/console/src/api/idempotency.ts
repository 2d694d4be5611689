import { useRef } from 'react';

/**
 * Returns a function that creates the Idempotency-Key header. The same request has the same key, so sending it again
 * after a lost response returns the first response without a second effect. A different request gets a new key.
 */
export function useIdempotencyKey(): (wish: unknown) => { 'Idempotency-Key': string } {
  const last = useRef({ text: '', key: '' });
  return (wish) => {
    const text = JSON.stringify(wish);
    if (text !== last.current.text) last.current = { text, key: generateKey() };
    return { 'Idempotency-Key': last.current.key };
  };
}

function generateKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
