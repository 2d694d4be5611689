/** Maximum number of rows that one request scans before it returns its position. */
export const maxRowsLookedAt = 2500;

export interface Scan {
  /** Table that is read, such as `job`. */
  from: string;
  /** Columns that identify the rows of the page. */
  columns: string;
  /** Conditions that an index evaluates in the order of the list. */
  within: string[];
  /** Conditions on `scanned` that are evaluated row by row. */
  filter: string[];
  order: string;
  /** Parameter with the limit of the page, such as `$4`. */
  limit: string;
  rows?: number;
}

/**
 * Returns a list's statement for filters without an index. It scans in the order of the list until the page is full or
 * `rows` rows are scanned. In the second case it also returns the last scanned row with `scan_end`, whether the row
 * matches or not, so that the next page continues after it. So a page may have fewer rows than requested, or none,
 * although another page follows.
 */
export function scanRowsSql({ from, columns, within, filter, order, limit, rows = maxRowsLookedAt }: Scan): string {
  const inOrder = `SELECT * FROM ${from} WHERE ${within.join(' AND ')} ORDER BY ${order}`;
  if (filter.length === 0) {
    return `SELECT ${columns}, true AS matches, false AS scan_end FROM (${inOrder} LIMIT ${limit}) listed`;
  }
  return `SELECT ${columns}, matches, place = ${rows} AS scan_end FROM (
      SELECT ${columns}, (${filter.join(' AND ')}) IS TRUE AS matches, row_number() OVER () AS place
      FROM (${inOrder} LIMIT ${rows}) scanned) looked_at
    WHERE matches OR place = ${rows} ORDER BY ${order} LIMIT ${limit}`;
}
