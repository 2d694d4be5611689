/**
 * Returns a name that a user chose in a form that is safe within a sentence: without control characters, and without
 * characters that change the text direction, which would alter how the text after the name reads.
 */
export function cleanNameForSentence(name: string): string {
  return name.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '');
}
