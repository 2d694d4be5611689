/** So many rows one answer looks at, before it says how far it came. */
export const maxRowsLookedAt = 2500;

export interface Scan {
  /** `job`: what is read. */
  from: string;
  /** Of it, what the rows of the page are told by. */
  columns: string;
  /** What an index answers in the order of the list. */
  within: string[];
  /** What is looked at row by row, of `scanned`. */
  filter: string[];
  order: string;
  /** Of the page: `$4`. */
  limit: string;
  rows?: number;
}

/**
 * A list's statement for filters that no index knows: it goes along the order until the page is full or it has looked
 * at so many rows. There it ends with the row that it came to, `scan_end`, whether that one matches or not, so that
 * the next page goes on behind it. A page may so have fewer rows than asked for, or none, and another one after it.
 */
export function scanWithin({ from, columns, within, filter, order, limit, rows = maxRowsLookedAt }: Scan): string {
  const inOrder = `SELECT * FROM ${from} WHERE ${within.join(' AND ')} ORDER BY ${order}`;
  if (filter.length === 0) {
    return `SELECT ${columns}, true AS matches, false AS scan_end FROM (${inOrder} LIMIT ${limit}) listed`;
  }
  return `SELECT ${columns}, matches, place = ${rows} AS scan_end FROM (
      SELECT ${columns}, (${filter.join(' AND ')}) IS TRUE AS matches, row_number() OVER () AS place
      FROM (${inOrder} LIMIT ${rows}) scanned) looked_at
    WHERE matches OR place = ${rows} ORDER BY ${order} LIMIT ${limit}`;
}
