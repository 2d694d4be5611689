import { to as copyTo } from 'pg-copy-streams';
import { AdminError } from '../admin-error';
import { connectTo, buildCopyStatement, queryRows } from '../backup/dump-database';
import type { Manifest } from '../backup/manifest';
import { RowSum } from '../backup/row-sum';
import { runInParallel } from '../run-in-parallel';

/** Reads every table and compares its rows with those that were saved. */
export async function verifyDatabase(
  databaseUrl: string,
  { manifest, jobs, onProgress }: { manifest: Manifest; jobs: number; onProgress: (line: string) => void },
): Promise<void> {
  const client = await connectTo(databaseUrl);
  const names = (await queryRows<{ name: string }>(client, tableNames)).map(({ name }) => name);
  await client.end();
  const unsaved = names.filter((name) => !manifest.tables.some((table) => table.name === name));
  let count = 0;
  await runInParallel(
    manifest.tables,
    jobs,
    async () => {
      const reader = await connectTo(databaseUrl);
      return { reader, close: () => reader.end() };
    },
    async ({ reader }, table) => {
      const sum = new RowSum();
      for await (const chunk of reader.query(copyTo(buildCopyStatement(table, 'TO STDOUT'))))
        sum.addRow(chunk as Buffer);
      if (sum.rows !== table.rows)
        throw new AdminError(`The restored table ${table.name} has ${sum.rows} rows instead of ${table.rows}.`);
      if (sum.hash !== table.hash)
        throw new AdminError(`The restored table ${table.name} has rows that differ from the backup.`);
      count += 1;
      onProgress(`verify: ${count} of ${manifest.tables.length} tables of the database`);
    },
  );
  const reader = await connectTo(databaseUrl);
  try {
    for (const name of unsaved) {
      const { rowCount } = await reader.query(`SELECT FROM "${name}" LIMIT 1`);
      if (rowCount)
        throw new AdminError(`The restored table ${name} has rows, but the backup does not contain this table.`);
    }
  } finally {
    await reader.end();
  }
}

const tableNames = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'schema_migration'`;
