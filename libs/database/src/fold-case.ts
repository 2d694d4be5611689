/**
 * SQL that makes a text comparable and sortable without regard to case, in any alphabet. It names a collation, because
 * the database's own locale may know only ASCII letters. That is so in the cluster of `npm start`.
 */
export function foldCaseSql(text: string): string {
  return `lower((${text}) COLLATE muster_text)`;
}

/** SQL condition that a text contains the searched part, in any case. Wildcard characters have no special meaning. */
export function containsIgnoringCaseSql(text: string, part: string): string {
  return `strpos(${foldCaseSql(text)}, ${foldCaseSql(`${part}::text`)}) > 0`;
}
