/**
 * A text in small letters, of any alphabet, and in its order. Said with each text: a database's own locale may know the
 * letters of ASCII alone, as that of a cluster made here does.
 */
export function inAnyCase(text: string): string {
  return `lower((${text}) COLLATE muster_text)`;
}

/** The condition that what is asked for is a part of a text, in any case; its signs are letters as any other. */
export function hasPart(text: string, asked: string): string {
  return `strpos(${inAnyCase(text)}, ${inAnyCase(`${asked}::text`)}) > 0`;
}
