import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * `muster_now()` is the start time of the transaction by the clock of the process that started it; outside of the
 * service's transactions, by the clock of the database. `muster_clock()` is the current time by the same clock, for
 * example after waiting for a lock.
 */
export class OneClock1763829500000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE FUNCTION muster_now() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS
      $$ SELECT coalesce(nullif(current_setting('muster.now', true), '')::timestamptz, now()) $$`);
    await runner.query(`
      CREATE FUNCTION muster_clock() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS
      $$ SELECT muster_now() + (clock_timestamp() - now()) $$`);
    await replaceClockDefaults(runner, 'now', 'muster_now');
    await replaceClockDefaults(runner, 'clock_timestamp', 'muster_clock');
  }

  async down(runner: QueryRunner): Promise<void> {
    await replaceClockDefaults(runner, 'muster_clock', 'clock_timestamp');
    await replaceClockDefaults(runner, 'muster_now', 'now');
    await runner.query('DROP FUNCTION muster_clock()');
    await runner.query('DROP FUNCTION muster_now()');
  }
}

/** Outbox messages and timeline positions keep the database's clock, which is the same for all processes. */
async function replaceClockDefaults(runner: QueryRunner, from: string, to: string): Promise<void> {
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
