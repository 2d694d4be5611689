/**
 * SQL that makes a text comparable and sortable without regard to case, in any alphabet. It names a collation, because
 * the database's own locale may know only ASCII letters. That is so in the cluster of `npm start`.
 */
export function inAnyCaseSql(text: string): string {
  return `lower((${text}) COLLATE muster_text)`;
}

/** SQL condition that a text contains the searched part, in any case. Wildcard characters have no special meaning. */
export function hasPartSql(text: string, part: string): string {
  return `strpos(${inAnyCaseSql(text)}, ${inAnyCaseSql(`${part}::text`)}) > 0`;
}
