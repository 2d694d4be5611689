import { useRef } from 'react';

/**
 * The header that names one wish: whoever sends it again, because an answer was lost, gets the first one's answer and no
 * second effect. Another wish gets another name.
 */
export function useIdempotencyKey(): (wish: unknown) => { 'Idempotency-Key': string } {
  const last = useRef({ text: '', key: '' });
  return (wish) => {
    const text = JSON.stringify(wish);
    if (text !== last.current.text) last.current = { text, key: newKey() };
    return { 'Idempotency-Key': last.current.key };
  };
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
