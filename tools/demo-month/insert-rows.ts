import type { Transaction } from '@muster/database';

/** Inserts rows of one table that all have the same columns. Other columns get their default. */
export async function insertRows(tx: Transaction, table: string, rows: readonly object[]): Promise<void> {
  if (rows.length === 0) return;
  const columns = Object.keys(rows[0]!).join(', ');
  await tx.execute(
    `INSERT INTO ${table} (${columns}) SELECT ${columns} FROM jsonb_populate_recordset(NULL::${table}, $1)`,
    [JSON.stringify(rows)],
  );
}
