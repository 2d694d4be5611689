/**
 * Removes control characters, which a terminal would execute, from untrusted text. Also removes bidirectional controls,
 * which would display a name and the text after it in a different order.
 */
export function removeControlCharacters(text: string): string {
  // eslint-disable-next-line no-control-regex -- These characters are removed.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '');
}

/** Makes untrusted text safe for use inside one line: removes control characters and joins its lines. */
export function toSafeLine(text: string): string {
  return removeControlCharacters(text).replace(/\s*[\t\n\u2028\u2029]+\s*/g, ' ');
}

/**
 * Makes untrusted text of several lines safe. Indents lines after the first, so that no line looks like output of the
 * CLI.
 */
export function toSafeBlock(text: string): string {
  return removeControlCharacters(text.trimEnd()).replaceAll('\n', '\n    ');
}

const controlSequences =
  // eslint-disable-next-line no-control-regex -- Matches all control sequences except the colours of terminal.ts.
  /\x1b(?!\[(?:[012]|3[123])m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** Removes control characters and bidirectional controls, but not the colours of terminal.ts. */
export function removeControlSequences(text: string): string {
  return text.replace(controlSequences, '');
}
