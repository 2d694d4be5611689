import type { DataSource } from 'typeorm';
import { ownerDataSource } from './data-source';
import { migrations } from './migrations';

const lockKey = 7_301_001;

/** Brings the database to this code's version. Two at once wait for each other. Answers the names it ran. */
export async function migrate(url: string): Promise<string[]> {
  const source = await ownerDataSource(url).initialize();
  try {
    const gate = source.createQueryRunner();
    await gate.startTransaction();
    // Held by a transaction that does nothing else, because each migration has a transaction of its own.
    await gate.query('SELECT pg_advisory_xact_lock($1)', [lockKey]);
    try {
      const ran = await source.runMigrations();
      return ran.map(({ name }) => name);
    } finally {
      await gate.rollbackTransaction();
      await gate.release();
    }
  } finally {
    await source.destroy();
  }
}

/** Migrations of this code that the database has not seen. */
export async function pendingMigrations(query: DataSource['query']): Promise<string[]> {
  const rows = await query<{ name: string }[]>('SELECT name FROM schema_migration');
  const seen = new Set(rows.map(({ name }) => name));
  return migrations.map(({ name }) => name).filter((name) => !seen.has(name));
}
