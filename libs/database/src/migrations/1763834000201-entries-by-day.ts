import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Indexes for the entries of a day. Entries are stored in the order of their time, so a BRIN index finds a day, and
 * costs an insert nearly nothing.
 */
export class EntriesByDay1763834000201 implements MigrationInterface {
  /** The tables are large, so the indexes are created while they are written to. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SET lock_timeout = 0');
    try {
      for (const [name, index] of indexes) {
        // An interrupted creation leaves an invalid index.
        await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
        await runner.query(index);
      }
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name] of indexes) await runner.query(`DROP INDEX IF EXISTS ${name}`);
  }
}

const indexes = [
  [
    'audit_entry_day_idx',
    `CREATE INDEX CONCURRENTLY audit_entry_day_idx ON audit_entry
       USING brin (at) WITH (pages_per_range = 16, autosummarize = on)`,
  ],
  [
    'access_entry_day_idx',
    `CREATE INDEX CONCURRENTLY access_entry_day_idx ON access_entry
       USING brin (at) WITH (pages_per_range = 16, autosummarize = on)`,
  ],
] as const;
