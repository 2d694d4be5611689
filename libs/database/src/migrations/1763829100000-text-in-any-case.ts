import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The collation with which texts are searched and sorted, the same in every database. The locale C does not know the
 * case of É or Ж. A Postgres that was built without ICU uses another collation that knows letters, if it has one.
 */
export class TextInAnyCase1763829100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DO $$
      DECLARE other name;
      BEGIN
        IF EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN
          CREATE COLLATION muster_text (provider = icu, locale = 'und');
          RETURN;
        END IF;
        SELECT collname INTO other FROM pg_collation
        WHERE collname IN ('pg_c_utf8', 'C.utf8', 'C.UTF-8', 'en_US.utf8')
          AND collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))
        ORDER BY collname LIMIT 1;
        EXECUTE format('CREATE COLLATION muster_text FROM %I', COALESCE(other, 'C'));
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP COLLATION muster_text');
  }
}
