import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Lets an organization have one admin at most with emergency access. */
export class OneBreakGlass1763837100101 implements MigrationInterface {
  /** The table has data, so the index is created while it is written to. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SET lock_timeout = 0');
    try {
      // An interrupted creation leaves an invalid index.
      await runner.query('DROP INDEX CONCURRENTLY IF EXISTS app_user_break_glass_key');
      await runner.query(
        'CREATE UNIQUE INDEX CONCURRENTLY app_user_break_glass_key ON app_user (organization_id) WHERE break_glass',
      );
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX IF EXISTS app_user_break_glass_key');
  }
}
