import { type QueryResultRow, types } from 'pg';
import type { WireColumn } from './wire-connection';

/**
 * Converts the data of Postgres to rows, for statements that return these columns. `max_retries` becomes `maxRetries`,
 * as in the entities. Keys inside JSON are data and stay unchanged.
 */
export class RowReader {
  private readonly names: string[];
  private readonly parsers: ((text: string) => unknown)[];
  /** Every row is a copy of this object, so that all rows have the same shape. */
  private readonly blank: QueryResultRow;

  constructor(columns: WireColumn[]) {
    this.names = columns.map(({ name }) => toCamelCase(name));
    this.parsers = columns.map(({ dataTypeID }) => types.getTypeParser(dataTypeID, 'text'));
    this.blank = Object.fromEntries(this.names.map((name) => [name, null]));
  }

  readRow(values: (string | null)[]): QueryResultRow {
    const row = { ...this.blank };
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at]!;
      if (value !== null) row[this.names[at]!] = this.parsers[at]!(value);
    }
    return row;
  }
}

/**
 * Cache of converted column names, because Postgres describes the columns of an unnamed statement on every use. Its
 * size is limited by the number of column names in the code.
 */
const namesByColumn = new Map<string, string>();

/** Reverses the naming of columns by TypeORM (data-source.ts). */
function toCamelCase(column: string): string {
  const cached = namesByColumn.get(column);
  if (cached !== undefined) return cached;
  const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  namesByColumn.set(column, name);
  return name;
}
