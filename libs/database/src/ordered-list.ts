import type { Page, SortKind } from '@muster/platform';
import { scanWithin } from './scan-within';

/** What a list can be sorted by beside its ids: an expression over its table, which may be null. */
interface SortValue {
  value: string;
  type: 'timestamptz' | 'bigint' | 'text';
}

interface Ordered {
  descends: boolean;
  by: SortValue | undefined;
  /** What a cursor has of the last row. */
  cursor: SortKind[];
}

/**
 * What a list’s parameter “sort” asks for: with a minus the greatest first. What is none of the values is the order of
 * ids, which are made in the order of time.
 */
export function orderOf(sort: string | undefined, values: Record<string, SortValue>): Ordered {
  const by = values[sort?.replace('-', '') ?? ''];
  return { descends: sort?.startsWith('-') ?? false, by, cursor: by ? [cursorKinds[by.type], 'id'] : ['id'] };
}

const cursorKinds: Record<SortValue['type'], SortKind> = { timestamptz: 'instant', bigint: 'amount', text: 'text' };

interface Listed {
  from: string;
  /** What an index answers in the order of ids. */
  within: string[];
  /** What is looked at row by row. */
  looked: string[];
  page: Page;
  placed: (value: unknown) => string;
}

/**
 * A list's statement: `id`, `matches`, `scan_end` and `sort_key` of the rows of its page, and `order` to put them in, as
 * parts of `p`. In another order than that of ids all that fit are sorted: it is for what an organization has set up, of
 * which there are thousands at most; those without a value come last.
 */
export function orderedList({ descends, by }: Ordered, { from, within, looked, page, placed }: Listed) {
  const direction = descends ? 'DESC' : 'ASC';
  const limit = placed(page.limit + 1);
  if (!by) {
    const behind = page.after ? [`id ${descends ? '<' : '>'} ${placed(page.after[0])}`] : [];
    const order = `id ${direction}`;
    const scan = scanWithin({ from, columns: 'id', within: [...within, ...behind], filter: looked, order, limit });
    const listed = `SELECT id, matches, scan_end, NULL::text AS sort_key FROM (${scan}) scan`;
    return { listed, order: `p.id ${direction}`, sortValue: 'NULL::text' };
  }
  const { value, type } = by;
  const conditions = [...within, ...looked].join(' AND ');
  const [last, id] = page.after ?? [];
  const behind = id === undefined ? 'true' : behindOf({ last: last!, id, descends, type, placed });
  const listed = `SELECT id, true AS matches, false AS scan_end, sort_key
    FROM (SELECT id, ${value} AS sort_key FROM ${from} WHERE ${conditions}) found
    WHERE ${behind} ORDER BY sort_key ${direction} NULLS LAST, id ${direction} LIMIT ${limit}`;
  const order = `p.sort_key ${direction} NULLS LAST, p.id ${direction}`;
  return { listed, order, sortValue: `COALESCE(CASE WHEN p.sort_key IS NOT NULL THEN ${exact(type, 'p')} END, '')` };
}

/** The place behind a row, for the next page's cursor: its value where it is sorted by one. */
export function placeOf({ id, sortValue }: { id: string; sortValue?: string | null }): string[] {
  return sortValue === undefined || sortValue === null ? [id] : [sortValue, id];
}

/** Of a sort key the text that is the same value again, to the last digit. */
export function exact(type: SortValue['type'], of: string): string {
  if (type !== 'timestamptz') return `${of}.sort_key::text`;
  return `to_char(${of}.sort_key AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`;
}

interface Behind {
  last: string;
  id: string;
  descends: boolean;
  type: SortValue['type'];
  placed: (value: unknown) => string;
}

/** Of rows with `id` and `sort_key`, those behind a place; who has no value is behind all that have one. */
export function behindOf({ last, id, descends, type, placed }: Behind): string {
  const sign = descends ? '<' : '>';
  const further = `id ${sign} ${placed(id)}::uuid`;
  if (last === '') return `(sort_key IS NULL AND ${further})`;
  const value = `${placed(last)}::${type}`;
  return `(sort_key IS NULL OR sort_key ${sign} ${value} OR (sort_key = ${value} AND ${further}))`;
}
