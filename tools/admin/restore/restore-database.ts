import { pipeline } from 'node:stream/promises';
import { from as copyFrom } from 'pg-copy-streams';
import type { Client } from 'pg';
import { migrateDatabase, filterUnknownMigrations } from '@muster/database';
import { AdminError } from '../admin-error';
import { connectTo, buildCopyStatement, quoteIdentifier, queryRows } from '../backup/dump-database';
import type { Manifest, SavedTable } from '../backup/manifest';
import { openTable } from '../backup/verify-backup';
import { runInParallel } from '../run-in-parallel';
import {
  openTemporaryDatabase,
  type TemporaryDatabase,
  finishRestore,
  type RestoreDatabaseOptions,
} from './temporary-database';
import { verifyDatabase } from './verify-database';

/**
 * Loads a backup into a temporary database, which gets the target's name when every table equals the saved one. Until
 * then the target is untouched. After an interruption, the next call resumes with the tables that are not loaded yet.
 */
export async function restoreDatabase(options: RestoreDatabaseOptions): Promise<void> {
  const { manifest, onProgress } = options;
  const temporary = await openTemporaryDatabase(options);
  onProgress('database: creating the tables');
  await migrateDatabase(temporary.url, { only: manifest.migrations });
  const client = await connectTo(temporary.url);
  try {
    await prepareSchema(client, manifest);
    await loadTables(options, temporary);
    await finishSchema(client, temporary, options);
    await verifyDatabase(temporary.url, options);
    if (options.upgrade !== false) {
      await migrateDatabase(temporary.url);
      await holdRestoredService(client, { id: manifest.id, savedAt: manifest.takenAt });
    }
  } finally {
    await client.end();
  }
  await finishRestore(options, temporary);
}

export function requireKnownMigrations({ id, version, migrations }: Manifest): void {
  const unknown = filterUnknownMigrations(migrations);
  if (unknown.length === 0) return;
  throw new AdminError(
    `The backup ${id} was made by Muster ${version}, which is newer than this one (it has the migration ${unknown.at(-1)}); ` +
      'restore it with that version or a newer one.',
  );
}

/**
 * Runs once: empties the tables that the migrations filled, and drops indexes and foreign keys, which make loading
 * slow, after storing how to create them again.
 */
async function prepareSchema(client: Client, manifest: Manifest): Promise<void> {
  const [{ prepared }] = await queryRows<{ prepared: boolean }>(
    client,
    "SELECT to_regclass('muster_restore.later') IS NOT NULL AS prepared",
  );
  if (prepared) return;
  await client.query('BEGIN');
  await client.query(`CREATE TABLE muster_restore.later AS ${statementsForLater}`);
  await client.query('CREATE TABLE muster_restore.loaded (name text PRIMARY KEY)');
  // The migrations created the partitions of today. Those of the backup may have other bounds with the same names.
  for (const { drop } of await queryRows<{ drop: string }>(client, ownPartitions)) await client.query(drop);
  for (const { name, partition } of manifest.tables) {
    if (!partition) continue;
    await client.query(
      `CREATE TABLE ${quoteIdentifier(name)} PARTITION OF ${quoteIdentifier(partition.parent)} ${partition.bounds}`,
    );
    await client.query(`ALTER TABLE ${quoteIdentifier(name)} ENABLE ROW LEVEL SECURITY`);
  }
  const own = await queryRows<{ name: string }>(client, ownTables);
  await client.query(`TRUNCATE ${own.map(({ name }) => quoteIdentifier(name)).join(', ')}`);
  for (const { removal } of await queryRows<{ removal: string }>(
    client,
    'SELECT removal FROM muster_restore.later ORDER BY step DESC',
  ))
    await client.query(removal);
  await client.query('COMMIT');
}

async function loadTables(
  { repository, manifest, jobs, onProgress }: RestoreDatabaseOptions,
  { url }: TemporaryDatabase,
): Promise<void> {
  const reader = await connectTo(url);
  const loaded = new Set(
    (await queryRows<{ name: string }>(reader, 'SELECT name FROM muster_restore.loaded')).map(({ name }) => name),
  );
  await reader.end();
  const left = manifest.tables
    .filter(({ name }) => !loaded.has(name))
    .sort((one, other) => other.file.bytes - one.file.bytes);
  let count = loaded.size;
  await runInParallel(
    left,
    Math.min(jobs, left.length),
    async () => {
      const client = await connectTo(url);
      return { client, close: () => client.end() };
    },
    async ({ client }, table) => {
      await client.query('BEGIN');
      await loadTable(client, { repository, manifest }, table);
      await client.query('INSERT INTO muster_restore.loaded VALUES ($1)', [table.name]);
      await client.query('COMMIT');
      count += 1;
      onProgress(`database: ${count} of ${manifest.tables.length} tables`);
    },
  );
}

/** Loads the rows of a table with disabled triggers, because the rows that the triggers inserted are in the backup. */
async function loadTable(
  client: Client,
  { repository, manifest }: Pick<RestoreDatabaseOptions, 'repository' | 'manifest'>,
  table: SavedTable,
): Promise<void> {
  const name = quoteIdentifier(table.name);
  await client.query(`ALTER TABLE ${name} DISABLE TRIGGER USER`);
  const rows = await openTable(repository, manifest, table);
  await pipeline(rows, client.query(copyFrom(buildCopyStatement(table, 'FROM STDIN'))));
  await client.query(`ALTER TABLE ${name} ENABLE TRIGGER USER`);
}

async function finishSchema(
  client: Client,
  { url }: TemporaryDatabase,
  { manifest, jobs, onProgress }: RestoreDatabaseOptions,
): Promise<void> {
  for (const { name, value, called } of manifest.sequences)
    await client.query('SELECT setval($1::regclass, $2::bigint, $3)', [quoteIdentifier(name), value, called]);
  const steps = await queryRows<{ step: number; statement: string; name: string }>(
    client,
    'SELECT step, statement, name FROM muster_restore.later ORDER BY step, name',
  );
  const createMakers = async () => {
    const maker = await connectTo(url);
    return { maker, close: () => maker.end() };
  };
  let count = 0;
  for (const step of new Set(steps.map((each) => each.step))) {
    const some = steps.filter((each) => each.step === step);
    // Foreign keys are created one at a time: two of the same table would wait for each other's locks and could
    // deadlock.
    await runInParallel(some, step === 1 ? jobs : 1, createMakers, async ({ maker }, { statement, name }) => {
      await maker.query('BEGIN');
      await maker.query(statement);
      await maker.query('DELETE FROM muster_restore.later WHERE name = $1', [name]);
      await maker.query('COMMIT');
      count += 1;
      onProgress(`database: ${count} of ${steps.length} indexes and foreign keys`);
    });
  }
  await client.query('ANALYZE');
}

/**
 * Puts the service on hold. The backup's machines, runs and due times are outdated, so the service does not act on them
 * until `muster-admin release`.
 */
export async function holdRestoredService(
  client: Client,
  { id, savedAt }: { id: string; savedAt: string },
): Promise<void> {
  await client.query(
    `INSERT INTO recovery_hold (backup, saved_at, restored_at) VALUES ($1, $2, clock_timestamp())
     ON CONFLICT (id) DO UPDATE SET backup = $1, saved_at = $2, restored_at = clock_timestamp(), released_at = NULL, fire_missed = false`,
    [id, savedAt],
  );
}

const ownPartitions = `
  SELECT format('DROP TABLE %I', relname) AS drop FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relispartition`;

const ownTables = `
  SELECT relname AS name FROM pg_class
  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'schema_migration'`;

/** Statements that drop and create the indexes without a constraint (step 1) and the foreign keys (step 2). */
const statementsForLater = `
  SELECT 1 AS step, 'index ' || c.relname AS name, format('DROP INDEX %I', c.relname) AS removal,
    -- pg_get_indexdef shows the index of a partitioned table with ON ONLY.
    replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ') AS statement
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE c.relnamespace = 'public'::regnamespace AND NOT c.relispartition
    AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
  UNION ALL
  SELECT 2, format('key %s.%s', t.relname, k.conname), format('ALTER TABLE %I DROP CONSTRAINT %I', t.relname, k.conname),
    format('ALTER TABLE %I ADD CONSTRAINT %I %s', t.relname, k.conname, pg_get_constraintdef(k.oid))
  FROM pg_constraint k JOIN pg_class t ON t.oid = k.conrelid
  WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace AND k.conparentid = 0`;
