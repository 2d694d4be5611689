/** Maximum size of a page before its last row, in bytes. It is read and written within a few milliseconds. */
const maxPageBytes = 2 * 1024 * 1024;

/**
 * Returns a list's statement whose page ends early if its rows are large. The size of a row is read before the row.
 * `pageRows` is the number of rows without an early end, so that an early end is not mistaken for the last page.
 */
export function limitPageSizeSql(select: string, { order, bytes }: { order: string; bytes: string }): string {
  return `SELECT * FROM (
      SELECT listed.*, count(*) OVER ()::int AS page_rows, COALESCE(sum(${bytes}) OVER (
        ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS bytes_before
      FROM (${select}) listed) page
    WHERE bytes_before < ${maxPageBytes} ORDER BY ${order}`;
}
