import { invalidFieldError, parseTime } from '@muster/contracts';
import { isUuid } from '../context/ids';
import { hasHalfSurrogatePair } from './bodies/text-faults';

export interface Page {
  limit: number;
  /** Sort values of the last row of the previous page; null for the first page. */
  after: string[] | null;
  /** Sort order of the list, if it has several. The cursors of one order are not valid in another. */
  sort?: string | undefined;
}

/**
 * Types of the values that a list is sorted by. Values of a cursor are checked, so that a forged cursor never reaches a
 * statement.
 */
export type SortKind = 'id' | 'time' | 'text' | 'integer' | 'bigint' | 'instant' | 'amount';

const fits: Record<SortKind, (value: string) => boolean> = {
  id: isUuid,
  time: (value) => parseTime(value) === value,
  text: (value) => !value.includes('\0') && !hasHalfSurrogatePair(value),
  integer: (value) => /^\d{1,10}$/.test(value) && Number(value) <= 2_147_483_647,
  bigint: (value) => /^\d{1,15}$/.test(value),
  // `instant` is a time in microseconds. `instant` and `amount` are empty for a row without a value.
  instant: (value) => value === '' || (/\.\d{6}Z$/.test(value) && parseTime(value) === `${value.slice(0, 23)}Z`),
  amount: (value) => /^(-?\d{1,18})?$/.test(value),
};

/**
 * Returns the page that a query requests. A cursor is opaque to clients. It contains the sort values of the last row
 * that they received.
 */
export function parsePage(query: { limit?: number; cursor?: string; sort?: string }, ...kinds: SortKind[]): Page {
  const { limit = 50, cursor } = query;
  const sort = kinds.length > 1 ? query.sort : undefined;
  return { limit, after: cursor === undefined ? null : decodeCursor(cursor, kinds, sort), sort };
}

/**
 * Builds a page and the cursor of the next one. There is a next page if there is one row more than requested, if
 * `pageRows` shows that the page ended early because its rows are large, or if a scan ended early at the row with
 * `scanEnd`.
 */
export function buildPage<T extends object>(rows: T[], page: Page, sortValues: (row: T) => string[]) {
  const found = rows.filter((row) => (row as Weighed).matches !== false);
  const items = found.slice(0, page.limit);
  const { pageRows = 0 } = (rows[0] ?? {}) as Weighed;
  const isCut = found.length > page.limit || pageRows > rows.length;
  const end = rows.at(-1);
  const last = isCut ? items.at(-1) : (end as Weighed | undefined)?.scanEnd ? end : undefined;
  return { items: items.map(removePageColumns), nextCursor: last ? encodeCursor(sortValues(last), page.sort) : null };
}

interface Weighed {
  pageRows?: number;
  bytesBefore?: number;
  /** Whether the row matches the filters. False only for a row at which a scan ended early. */
  matches?: boolean;
  scanEnd?: boolean;
  /** Value of the row in the list's sort order, which its cursor contains, and its position. */
  sortValue?: string | null;
  sortPlace?: number;
}

/** Removes the columns about the page from a row. */
function removePageColumns<T extends object>(row: T): T {
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

function encodeCursor(values: string[], sort: string | undefined): string {
  return Buffer.from(JSON.stringify(sort === undefined ? values : [...values, sort])).toString('base64url');
}

function decodeCursor(cursor: string, kinds: SortKind[], sort: string | undefined): string[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'));
    if (Array.isArray(parts)) {
      const values: unknown[] = parts.slice(0, kinds.length);
      const written =
        kinds.every((kind, index) => typeof values[index] === 'string' && fits[kind](values[index])) &&
        // A cursor with other content, or of another sort order, is not valid.
        encodeCursor(values as string[], sort) === cursor;
      if (written) return values as string[];
    }
  } catch {
    // A cursor that cannot be parsed was not created by the service. The error below is thrown.
  }
  throw invalidFieldError(
    'cursor',
    'cursor is not valid',
    'cursor must be the nextCursor of an earlier response of this list.',
  );
}
