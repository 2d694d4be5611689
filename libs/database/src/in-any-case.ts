/**
 * SQL for a text in lower case and in alphabetical order, for any alphabet. Names the collation, because the database's
 * own locale may know only the letters of ASCII, as that of a local cluster does.
 */
export function inAnyCase(text: string): string {
  return `lower((${text}) COLLATE muster_text)`;
}

/** SQL condition that a text contains the searched part, in any case. Wildcard characters have no special meaning. */
export function hasPart(text: string, part: string): string {
  return `strpos(${inAnyCase(text)}, ${inAnyCase(`${part}::text`)}) > 0`;
}
