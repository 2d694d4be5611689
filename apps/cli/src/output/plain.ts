/** What others wrote, without characters that a terminal would obey. */
export function plain(text: string): string {
  // eslint-disable-next-line no-control-regex -- These are what is taken out.
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, '');
}

/** The same for a text that has our own colours in it. */
export function withoutOrders(text: string): string {
  // eslint-disable-next-line no-control-regex -- As above; a colour is what orders nothing else.
  return text.replace(/\x1b(?!\[[\d;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]/g, '');
}
