import type { RowWriter, Statement } from './statement-batch';
import { transposed } from './transposed';

/** Returns the statement that writes one row. */
export function rowStatement(into: RowWriter, values: readonly unknown[]): Statement {
  const statement = into.one ? { ...into.one, values } : rowsStatement(into, [values]);
  return { ...statement, row: { into, values } };
}

/** Returns the statement that writes several rows. */
export function rowsStatement(into: RowWriter, rows: readonly (readonly unknown[])[]): Statement {
  return { ...into.many, values: transposed(rows) };
}
