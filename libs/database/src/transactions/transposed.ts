/** Rows as columns: what a statement over a set takes, an array for each. */
export function transposed(rows: readonly (readonly unknown[])[]): unknown[][] {
  return (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]));
}
