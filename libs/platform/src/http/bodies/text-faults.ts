const surrogate = /\p{Surrogate}/u;

/** Whether the text contains half of a surrogate pair, which neither UTF-8 nor Postgres can represent. */
export function hasHalfSurrogatePair(text: string): boolean {
  return surrogate.test(text);
}

/**
 * Returns the text without characters that a database cannot store: U+0000 is removed, and each half of a surrogate
 * pair becomes U+FFFD.
 */
export function toStorableText(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '');
}

/** Whether a string or a key anywhere in the value contains U+0000, which Postgres cannot store. */
export function containsNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  if (Array.isArray(value)) return value.some(containsNul);
  if (value && typeof value === 'object') {
    return Object.entries(value).some(([key, inner]) => key.includes('\0') || containsNul(inner));
  }
  return false;
}
