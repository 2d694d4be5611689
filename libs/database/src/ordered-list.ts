import type { Page, SortKind } from '@muster/platform';
import { scanRowsSql } from './scan-within';

/** A value by which a list can be sorted instead of its ids: an expression over its table, which may be null. */
interface SortValue {
  value: string;
  type: 'timestamptz' | 'bigint' | 'text';
}

interface Ordered {
  descends: boolean;
  by: SortValue | undefined;
  /** Kinds of the last row's values in a cursor. */
  cursor: SortKind[];
}

/**
 * Returns the order that a list’s parameter “sort” requests; a minus means descending. Without a known value the list
 * is sorted by its ids, which are created in the order of time.
 */
export function parseListOrder(sort: string | undefined, values: Record<string, SortValue>): Ordered {
  const by = values[sort?.replace('-', '') ?? ''];
  return { descends: sort?.startsWith('-') ?? false, by, cursor: by ? [cursorKinds[by.type], 'id'] : ['id'] };
}

const cursorKinds: Record<SortValue['type'], SortKind> = { timestamptz: 'instant', bigint: 'amount', text: 'text' };

interface Listed {
  from: string;
  /** SQL conditions for which an index returns the rows in the order of ids. */
  within: string[];
  /** SQL conditions that no index supports, so that they are evaluated row by row. */
  looked: string[];
  page: Page;
  addParameter: (value: unknown) => string;
}

/**
 * Returns a list's statement with `id`, `matches`, `scan_end` and `sort_key` of the rows of a page, and the `order` of
 * the rows as columns of `p`. Unless the list is sorted by ids, all matching rows are sorted. So use it only for
 * entities that an organization sets up, such as workflows, of which there are at most thousands. Rows without a value
 * come last.
 */
export function orderedListSql({ descends, by }: Ordered, { from, within, looked, page, addParameter }: Listed) {
  const direction = descends ? 'DESC' : 'ASC';
  const limit = addParameter(page.limit + 1);
  if (!by) {
    const behind = page.after ? [`id ${descends ? '<' : '>'} ${addParameter(page.after[0])}`] : [];
    const order = `id ${direction}`;
    const scan = scanRowsSql({ from, columns: 'id', within: [...within, ...behind], filter: looked, order, limit });
    const listed = `SELECT id, matches, scan_end, NULL::text AS sort_key FROM (${scan}) scan`;
    return { listed, order: `p.id ${direction}`, sortValue: 'NULL::text' };
  }
  const { value, type } = by;
  const conditions = [...within, ...looked].join(' AND ');
  const [last, id] = page.after ?? [];
  const behind = id === undefined ? 'true' : rowsAfterPositionSql({ last: last!, id, descends, type, addParameter });
  const listed = `SELECT id, true AS matches, false AS scan_end, sort_key
    FROM (SELECT id, ${value} AS sort_key FROM ${from} WHERE ${conditions}) found
    WHERE ${behind} ORDER BY sort_key ${direction} NULLS LAST, id ${direction} LIMIT ${limit}`;
  const order = `p.sort_key ${direction} NULLS LAST, p.id ${direction}`;
  return {
    listed,
    order,
    sortValue: `COALESCE(CASE WHEN p.sort_key IS NOT NULL THEN ${sortKeyTextSql(type, 'p')} END, '')`,
  };
}

/**
 * Returns the position after a row for the next page's cursor. It contains the sort value if the list is sorted by one.
 */
export function getPositionValues({ id, sortValue }: { id: string; sortValue?: string | null }): string[] {
  return sortValue === undefined || sortValue === null ? [id] : [sortValue, id];
}

/** SQL that converts a sort key to a text from which exactly the same value can be parsed. */
export function sortKeyTextSql(type: SortValue['type'], alias: string): string {
  if (type !== 'timestamptz') return `${alias}.sort_key::text`;
  return `to_char(${alias}.sort_key AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

interface Behind {
  last: string;
  id: string;
  descends: boolean;
  type: SortValue['type'];
  addParameter: (value: unknown) => string;
}

/** SQL condition for the rows after a position, by `id` and `sort_key`. Rows without a value come last. */
export function rowsAfterPositionSql({ last, id, descends, type, addParameter }: Behind): string {
  const sign = descends ? '<' : '>';
  const further = `id ${sign} ${addParameter(id)}::uuid`;
  if (last === '') return `(sort_key IS NULL AND ${further})`;
  const value = `${addParameter(last)}::${type}`;
  return `(sort_key IS NULL OR sort_key ${sign} ${value} OR (sort_key = ${value} AND ${further}))`;
}
