const surrogate = /\p{Surrogate}/u;

/** Half of a surrogate pair is no character: neither UTF-8 nor Postgres has a form for it. */
export function hasHalfPair(text: string): boolean {
  return surrogate.test(text);
}

/** The text without what a database can't keep: U+0000, and halves of surrogate pairs, which become a mark. */
export function storable(text: string): string {
  return Buffer.from(text).toString().replaceAll('\0', '');
}

/** True when a string anywhere in the value, or a key, holds U+0000, which Postgres cannot store. */
export function hasNul(value: unknown): boolean {
  if (typeof value === 'string') return value.includes('\0');
  if (Array.isArray(value)) return value.some(hasNul);
  if (value && typeof value === 'object') {
    return Object.entries(value).some(([key, inner]) => key.includes('\0') || hasNul(inner));
  }
  return false;
}
