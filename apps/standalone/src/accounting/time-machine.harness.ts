import { FakeClock, type Harness } from '@muster/testing';
import { Client } from 'pg';

/**
 * Lets a whole month pass within a test: the service's clock is a fake one, and what the database calls now() is moved
 * with it, by functions of the same names that its statements find first and its columns have as their defaults.
 */
export class TimeMachine {
  readonly clock = new FakeClock('2026-01-01T00:00:00Z');
  private last: Promise<unknown> = Promise.resolve();

  /** Before the service connects, as connections keep the path that they began with. */
  async install(databaseUrl: string): Promise<void> {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    const { rows } = await client.query<{ name: string }>('SELECT current_database() AS name');
    await client.query(`
      CREATE SCHEMA travel;
      CREATE TABLE travel.time (at timestamptz NOT NULL, set_at timestamptz NOT NULL);
      INSERT INTO travel.time VALUES (pg_catalog.now(), pg_catalog.now());
      CREATE FUNCTION travel.now() RETURNS timestamptz STABLE LANGUAGE sql AS
        'SELECT at + (pg_catalog.now() - set_at) FROM travel.time';
      CREATE FUNCTION travel.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
        'SELECT at + (pg_catalog.clock_timestamp() - set_at) FROM travel.time';
      DO $$ DECLARE one record; BEGIN
        FOR one IN SELECT table_name, column_name FROM information_schema.columns
          WHERE table_schema = 'public' AND column_default = 'now()'
            -- It has partitions for the days around today alone.
            AND table_name !~ '^timeline_entry' LOOP
          EXECUTE format('ALTER TABLE public.%I ALTER %I SET DEFAULT travel.now()', one.table_name, one.column_name);
        END LOOP;
      END $$;
      GRANT USAGE ON SCHEMA travel TO PUBLIC;
      GRANT SELECT ON travel.time TO PUBLIC;
      ALTER DATABASE ${rows[0]!.name} SET search_path = travel, pg_catalog, public;
    `);
    await client.end();
  }

  /** From here on it is at least this time, and goes on from there in the database. */
  go({ databaseUrl }: Pick<Harness, 'databaseUrl'>, to: Date): Promise<void> {
    return this.still(async () => {
      if (to <= this.clock.now()) return;
      this.clock.set(to);
      const client = new Client({ connectionString: databaseUrl });
      await client.connect();
      await client.query('UPDATE travel.time SET at = $1, set_at = pg_catalog.clock_timestamp()', [to]);
      await client.end();
    });
  }

  /** Nobody moves the time while this is done. */
  still<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined);
    return done;
  }
}
