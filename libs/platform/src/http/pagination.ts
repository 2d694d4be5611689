import { invalidField, readTime } from '@muster/contracts';
import { isUuid } from '../context/ids';
import { hasHalfPair } from './bodies/text-faults';

export interface Page {
  limit: number;
  /** What the last row of the previous page had in the list's order; null for the first page. */
  after: string[] | null;
  /** The order, where it is one of values: its cursors are no places in another. */
  sort?: string | undefined;
}

/** What a list is sorted by, so that a cursor which we did not write never reaches a statement. */
export type SortKind = 'id' | 'time' | 'text' | 'integer' | 'bigint' | 'instant' | 'amount';

const fits: Record<SortKind, (value: string) => boolean> = {
  id: isUuid,
  time: (value) => readTime(value) === value,
  text: (value) => !value.includes('\0') && !hasHalfPair(value),
  integer: (value) => /^\d{1,10}$/.test(value) && Number(value) <= 2_147_483_647,
  bigint: (value) => /^\d{1,15}$/.test(value),
  // A time to the microsecond, and an amount: or nothing, of a row that has none.
  instant: (value) => value === '' || (/\.\d{6}Z$/.test(value) && readTime(value) === `${value.slice(0, 23)}Z`),
  amount: (value) => /^(-?\d{1,18})?$/.test(value),
};

/** The page that a query asks for. A cursor is opaque to clients: the sort values of the last row they saw. */
export function pageOf(query: { limit?: number; cursor?: string; sort?: string }, ...kinds: SortKind[]): Page {
  const { limit = 50, cursor } = query;
  const sort = kinds.length > 1 ? query.sort : undefined;
  return { limit, after: cursor === undefined ? null : readCursor(cursor, kinds, sort), sort };
}

/**
 * Takes one row more than asked for as the sign that there is a next page, or `pageRows` of a page that ended early
 * because its rows are large, or `scanEnd` of a row that a scan came to before it found as many.
 */
export function paginate<T extends object>(rows: T[], page: Page, sortValues: (row: T) => string[]) {
  const found = rows.filter((row) => (row as Weighed).matches !== false);
  const items = found.slice(0, page.limit);
  const { pageRows = 0 } = (rows[0] ?? {}) as Weighed;
  const isCut = found.length > page.limit || pageRows > rows.length;
  const end = rows.at(-1);
  const last = isCut ? items.at(-1) : (end as Weighed | undefined)?.scanEnd ? end : undefined;
  return { items: items.map(withoutWeight), nextCursor: last ? writeCursor(sortValues(last), page.sort) : null };
}

interface Weighed {
  pageRows?: number;
  bytesBefore?: number;
  /** Of a scan: false for the row that it came to, where that is none of those asked for. */
  matches?: boolean;
  scanEnd?: boolean;
  /** Of a list that is sorted: what a cursor says of the row, and where it stands. */
  sortValue?: string | null;
  sortPlace?: number;
}

/** What a statement says of its page is no part of its rows. */
function withoutWeight<T extends object>(row: T): T {
  const {
    pageRows,
    bytesBefore: _,
    matches,
    scanEnd: __,
    sortValue: ___,
    sortPlace: ____,
    ...own
  } = row as T & Weighed;
  return pageRows === undefined && matches === undefined ? row : (own as unknown as T);
}

function writeCursor(values: string[], sort: string | undefined): string {
  return Buffer.from(JSON.stringify(sort === undefined ? values : [...values, sort])).toString('base64url');
}

function readCursor(cursor: string, kinds: SortKind[], sort: string | undefined): string[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(parts)) {
      const values: unknown[] = parts.slice(0, kinds.length);
      const written =
        kinds.every((kind, index) => typeof values[index] === 'string' && fits[kind](values[index])) &&
        // Nothing else in it, and of this order.
        writeCursor(values as string[], sort) === cursor;
      if (written) return values as string[];
    }
  } catch {
    // Falls through to the one answer for every cursor that we did not write.
  }
  throw invalidField('cursor', 'cursor is not valid', "cursor must be the nextCursor of an earlier response of this list.");
}
