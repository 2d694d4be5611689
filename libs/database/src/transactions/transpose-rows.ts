/** Converts rows to columns, because a statement over a set takes an array per column. */
export function rowsToColumns(rows: readonly (readonly unknown[])[]): unknown[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}
