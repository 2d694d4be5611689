/** What a page of a list may weigh before its last row: so much is read and written within a few milliseconds. */
const maxPageBytes = 2 * 1024 * 1024;

/**
 * A list's statement whose page ends early where its rows are large: the size of a row is asked before it is fetched.
 * `pageRows` says of each row how many there would be, so that an early end is not taken for the last page.
 */
export function pageWithin(select: string, { order, bytes }: { order: string; bytes: string }): string {
  return `SELECT * FROM (
      SELECT listed.*, count(*) OVER ()::int AS page_rows, COALESCE(sum(${bytes}) OVER (
        ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
      FROM (${select}) listed) page
    WHERE bytes_before < ${maxPageBytes} ORDER BY ${order}`;
}
