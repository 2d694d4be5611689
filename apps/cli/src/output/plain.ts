/**
 * What others wrote, without characters that a terminal would obey, nor those that turn the direction of a line: with
 * these a name shows another order of letters than it has, and what stands after it as well.
 */
export function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- These are what is taken out.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '');
}

/** The same as part of a sentence of ours: one line. */
export function inLine(text: string): string {
  return plain(text).replace(/\s*[\t\n\u2028\u2029]+\s*/g, ' ');
}

/** The same for a text of several lines: those after its first are set in, so that none looks like one of ours. */
export function inBlock(text: string): string {
  return plain(text.trimEnd()).replaceAll('\n', '\n    ');
}

// eslint-disable-next-line no-control-regex -- As above; a colour of ours orders nothing else.
const orders = /\x1b(?!\[(?:[012]|3[123])m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g;

/** The same for a text that has the colours of terminal.ts in it. */
export function withoutOrders(text: string): string {
  return text.replace(orders, '');
}
