import { type ClonedDatabase, createEmptyDatabase } from '@muster/testing';
import { Client } from 'pg';
import { createOwnerDataSource } from './data-source';
import { migrateDatabase } from './migrate-database';
import { migrations } from './migrations';

describe('migrations', () => {
  let database: ClonedDatabase;

  beforeAll(async () => {
    database = await createEmptyDatabase();
  });
  afterAll(() => database.drop());

  it('the migrations leave the same schema after migrating up, down and up again', async () => {
    const source = await createOwnerDataSource(database.url).initialize();
    try {
      await migrateDatabase(database.url);
      const first = await describeSchema(source);
      for (let i = 0; i < migrations.length; i += 1) await source.undoLastMigration();
      expect(await listTables(source)).toEqual(['schema_migration']);
      await migrateDatabase(database.url);
      expect(await describeSchema(source)).toEqual(first);
    } finally {
      await source.destroy();
    }
  });

  it('the migrations create exactly the schema that the entities describe', async () => {
    const source = await createOwnerDataSource(database.url).initialize();
    try {
      await migrateDatabase(database.url);
      const drift = await source.driver.createSchemaBuilder().log();
      expect(drift.upQueries.map(({ query }) => query)).toEqual([]);
    } finally {
      await source.destroy();
    }
  });

  it('the schema stores no money as floating point, and every amount’s column name contains its unit', async () => {
    const source = await createOwnerDataSource(database.url).initialize();
    try {
      await migrateDatabase(database.url);
      const columns: { name: string; type: string }[] = await source.query(
        `SELECT table_name || '.' || column_name AS name, data_type AS type FROM information_schema.columns
         WHERE table_schema = 'public' AND column_name ~ '(usd|micros|money|cost|price|spend|amount|charge|rate|fee)(_|$)'
           AND data_type NOT IN ('uuid', 'text', 'jsonb', 'boolean', 'timestamp with time zone', 'ARRAY')`,
      );
      expect(columns.map(({ name }) => name)).toContain('job.total_cost_micros');
      const odd = columns.filter(
        ({ name, type }) =>
          !/_days$/.test(name) && !(/_micros(_|$)/.test(name) && type === 'bigint') && !isExactPrice(name, type),
      );
      expect(odd).toEqual([]);
    } finally {
      await source.destroy();
    }
  });

  it('several processes that migrate at once run each migration once', async () => {
    const empty = await createEmptyDatabase();
    try {
      const ran = await Promise.all([
        migrateDatabase(empty.url),
        migrateDatabase(empty.url),
        migrateDatabase(empty.url),
      ]);
      expect(ran.flat()).toHaveLength(migrations.length);
    } finally {
      await empty.drop();
    }
  });

  it('a migration waits for a lock only briefly and retries, so that other statements are not blocked for long', async () => {
    const source = await createOwnerDataSource(database.url).initialize();
    const holder = source.createQueryRunner();
    const client = new Client({ connectionString: database.url });
    await client.connect();
    try {
      await migrateDatabase(database.url);
      // Undoes enough migrations that one of them changes an existing table.
      for (let i = 0; i < 3; i += 1) await source.undoLastMigration();
      const tables = await listTables(source);
      await holder.startTransaction();
      for (const table of tables.filter((name) => name !== 'schema_migration'))
        await holder.query(`LOCK TABLE ${table} IN ACCESS SHARE MODE`);
      let ran: string[] | undefined;
      const migrating = migrateDatabase(database.url).then((names) => (ran = names));
      const waits: number[] = [];
      const until = Date.now() + 1500;
      while (Date.now() < until) {
        const startedAt = Date.now();
        await client.query('SELECT FROM vault_secret, question, user_session LIMIT 1');
        waits.push(Date.now() - startedAt);
      }
      expect(ran).toBeUndefined();
      // The lock timeout plus the delay of a busy machine.
      expect(Math.max(...waits)).toBeLessThan(1200);
      await holder.rollbackTransaction();
      expect(await migrating).toHaveLength(3);
    } finally {
      await client.end();
      await holder.release();
      await source.destroy();
    }
  });

  it('no index contains a column that heartbeats or every run change, so that Postgres updates these rows in place', async () => {
    const changed = {
      agent: ['last_seen', 'last_activity_at', 'last_activity', 'current_job_id', 'dispatched_at', 'seen_from'],
      job: ['command_id', 'dispatched_at', 'last_heartbeat_at', 'last_progress_at', 'total_cost_micros', 'webhook_seq'],
      timeline_head: ['last_seq'],
      usage_counter: ['runs', 'completed', 'run_ms', 'spend_micros'],
    };
    const source = await createOwnerDataSource(database.url).initialize();
    try {
      await migrateDatabase(database.url);
      // An index depends on the columns of its keys, its expressions and its condition.
      const rows = await source.query(
        `SELECT DISTINCT i.indexrelid::regclass::text AS index, a.attname AS column
         FROM jsonb_each($1::jsonb) AS t (name, columns)
         JOIN pg_attribute a ON a.attrelid = t.name::regclass AND t.columns ? a.attname
         LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND EXISTS (
           SELECT FROM pg_depend d
           WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid AND d.refclassid = 'pg_class'::regclass
             AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum)`,
        [JSON.stringify(changed)],
      );
      const columns = Object.values(changed).flat();
      expect(new Set(rows.map(({ column }: { column: string }) => column))).toEqual(new Set(columns));
      expect(rows.filter(({ index }: { index: string | null }) => index !== null)).toEqual([]);
    } finally {
      await source.destroy();
    }
  });

  it('every table has row-level security that binds the roles of the service, because they own no table', async () => {
    const source = await createOwnerDataSource(database.url).initialize();
    try {
      await migrateDatabase(database.url);
      const open = await source.query(`
        SELECT relname FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'schema_migration'
          AND (NOT relrowsecurity OR pg_get_userbyid(relowner) IN ('muster_app', 'muster_system'))`);
      expect(open).toEqual([]);
    } finally {
      await source.destroy();
    }
  });
});

/** Whether the column is a price per unit. It is finer than a micro-dollar, so it is an exact decimal in USD. */
function isExactPrice(name: string, type: string): boolean {
  return name.endsWith('_usd') && type === 'numeric';
}

type Source = ReturnType<typeof createOwnerDataSource>;

async function listTables(source: Source): Promise<string[]> {
  const rows = await source.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename`);
  return rows.map(({ tablename }: { tablename: string }) => tablename);
}

async function describeSchema(source: Source): Promise<unknown> {
  return source.query(`
    SELECT 'column' AS kind, table_name AS a, column_name AS b, data_type || is_nullable || COALESCE(column_default, '') AS c
      FROM information_schema.columns WHERE table_schema = 'public'
    UNION ALL SELECT 'index', tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'policy', tablename, policyname, COALESCE(qual, '') FROM pg_policies WHERE schemaname = 'public'
    UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid)
      FROM pg_constraint WHERE connamespace = 'public'::regnamespace
    UNION ALL SELECT 'grant', table_name, grantee, privilege_type FROM information_schema.table_privileges
      WHERE table_schema = 'public'
    ORDER BY 1, 2, 3, 4`);
}
