import { type QueryResultRow, types } from 'pg';
import type { WireColumn } from './wire-connection';

/**
 * Makes rows of what Postgres sends, for statements that answer these columns: `max_retries` is read as `maxRetries`,
 * as the entities name it. Keys inside of JSON are data, and stay as they are.
 */
export class RowReader {
  private readonly names: string[];
  private readonly parsers: ((text: string) => unknown)[];
  /** Every row is a copy of it, so that all have one shape. */
  private readonly blank: QueryResultRow;

  constructor(columns: WireColumn[]) {
    this.names = columns.map(({ name }) => camelCase(name));
    this.parsers = columns.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text'));
    this.blank = Object.fromEntries(this.names.map((name) => [name, null]));
  }

  read(values: (string | null)[]): QueryResultRow {
    const row = { ...this.blank };
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at]!;
      if (value !== null) row[this.names[at]!] = this.parsers[at]!(value);
    }
    return row;
  }
}

/** As many as there are names in statements: an unnamed one is described with every use. */
const known = new Map<string, string>();

/** The way back from the names that TypeORM gives columns (data-source.ts). */
function camelCase(column: string): string {
  const found = known.get(column);
  if (found !== undefined) return found;
  const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  known.set(column, name);
  return name;
}
