import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `muster_now()` is the moment of the transaction, from the clock of the process that began it; outside of the service's
 * transactions it is the database's own. `muster_clock()` is how late it is by the same clock, after a wait for a lock.
 */
export class OneClock1763829500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION muster_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS
      $$ SELECT coalesce(nullif(current_setting('muster.now', true), '')::timestamptz, now()) $$`);
    await runner.query(`
      CREATE FUNCTION muster_clock() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS
      $$ SELECT muster_now() + (clock_timestamp() - now()) $$`);
    await replaceDefaults(runner, 'now', 'muster_now');
    await replaceDefaults(runner, 'clock_timestamp', 'muster_clock');
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceDefaults(runner, 'muster_clock', 'clock_timestamp');
    await replaceDefaults(runner, 'muster_now', 'now');
    await runner.query('DROP FUNCTION muster_clock()');
    await runner.query('DROP FUNCTION muster_now()');
  }
}

/** Messages on their way and the places of the timeline are the database's to date, for every process alike. */
async function replaceDefaults(runner: QueryRunner, from: string, to: string): Promise<void> {
  await runner.query(`
    DO $$ DECLARE c record; BEGIN
      FOR c IN
        SELECT d.adrelid::regclass AS "table", a.attname AS "column"
        FROM pg_attrdef d
        JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        JOIN pg_class t ON t.oid = d.adrelid
        WHERE t.relnamespace = 'public'::regnamespace AND pg_get_expr(d.adbin, d.adrelid) = '${from}()'
          AND t.relname NOT IN ('outbox', 'queue_probe', 'timeline_head')
          AND NOT (t.relname LIKE 'timeline_entry%' AND a.attname = 'recorded_at')
      LOOP
        EXECUTE format('ALTER TABLE %s ALTER %I SET DEFAULT ${to}()', c."table", c."column");
      END LOOP;
    END $$`);
}
