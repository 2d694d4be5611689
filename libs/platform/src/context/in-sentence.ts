/**
 * A name that somebody chose, as part of a sentence of ours: without controls, and without characters that turn the
 * direction of a line, with which what stands after the name would read otherwise.
 */
export function inSentence(name: string): string {
  return name.replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '');
}
