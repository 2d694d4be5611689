const turns = /[\u202a-\u202e\u2066-\u2069]/g;

/** A name that stands in a text of ours, without what turns the direction of all that follows it. */
export function oneDirection(name: string): string {
  return name.replaceAll(turns, '');
}

/** The same for code, in which each character counts: what turns it is written out. */
export function turnsWrittenOut(code: string): string {
  return code.replaceAll(turns, (turn) => `\\u${turn.charCodeAt(0).toString(16)}`);
}
