import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import { createOwnerDataSource } from './data-source';
import { migrations } from './migrations';

const lockKey = 7_301_001;

export interface MigrateOptions {
  /** Runs only these migrations, to bring an empty database to the version of a backup. */
  only?: readonly string[];
}

/**
 * Migrates the database to this code's version. Concurrent calls wait for each other. Returns the names of the
 * migrations that it ran.
 */
export async function migrateDatabase(url: string, { only }: MigrateOptions = {}): Promise<string[]> {
  const chosen = only ? migrations.filter(({ name }) => only.includes(name)) : migrations;
  const source = await createOwnerDataSource(url, chosen).initialize();
  try {
    const lockHolder = source.createQueryRunner();
    await lockHolder.startTransaction();
    // The lock is held by a transaction of its own connection, because each migration runs in its own transaction.
    await lockMigrations(lockHolder);
    try {
      const before = await readExecutedMigrations(source);
      await runAllMigrations(source);
      return chosen.map(({ name }) => name).filter((name) => !before.has(name));
    } finally {
      await lockHolder.rollbackTransaction();
      await lockHolder.release();
    }
  } finally {
    await source.destroy();
  }
}

/**
 * Waits for the lock without holding a snapshot, because CREATE INDEX CONCURRENTLY waits for all snapshots of others. A
 * process that waited in a statement, or whose statement had parameters and left its portal open, would block it
 * forever.
 */
async function lockMigrations(lockHolder: QueryRunner): Promise<void> {
  for (;;) {
    const [row] = (await lockHolder.query(`SELECT pg_try_advisory_xact_lock(${lockKey}) AS locked`)) as {
      locked: boolean;
    }[];
    if (row!.locked) return;
    await delay(lockPollMs);
  }
}

const lockPollMs = 100;
const lockNotAvailable = '55P03';
const lockPauseMs = 500;
const maxLockWaitMs = 10 * 60_000;

/**
 * Statements of the service queue behind a migration that waits for a lock. Therefore a migration waits only for
 * `migrationLockTimeoutMs`. Then its transaction is rolled back, the queued statements run, and it is tried again.
 */
async function runAllMigrations(source: DataSource): Promise<void> {
  const deadline = Date.now() + maxLockWaitMs;
  for (;;) {
    try {
      await source.runMigrations();
      return;
    } catch (error) {
      const { code } = (error as { driverError?: { code?: string } }).driverError ?? {};
      if (code !== lockNotAvailable || Date.now() > deadline) throw error;
      await delay(lockPauseMs);
    }
  }
}

async function readExecutedMigrations(source: DataSource): Promise<Set<string>> {
  const [table] = await source.query<{ found: string | null }[]>("SELECT to_regclass('schema_migration') AS found");
  const rows = table!.found ? await source.query<{ name: string }[]>('SELECT name FROM schema_migration') : [];
  return new Set(rows.map(({ name }) => name));
}

/** Returns the migrations of this code that the database has not run. */
export async function listPendingMigrations(query: DataSource['query']): Promise<string[]> {
  const rows = await query<{ name: string }[]>('SELECT name FROM schema_migration');
  const applied = new Set(rows.map(({ name }) => name));
  return migrations.map(({ name }) => name).filter((name) => !applied.has(name));
}

/** Returns the migrations that the database has run and this code does not know. A newer version ran them. */
export async function listUnknownMigrations(url: string): Promise<string[]> {
  const source = await createOwnerDataSource(url).initialize();
  try {
    return filterUnknownMigrations([...(await readExecutedMigrations(source))]);
  } finally {
    await source.destroy();
  }
}

export function filterUnknownMigrations(names: readonly string[]): string[] {
  const ownNames = new Set(migrations.map(({ name }) => name));
  return names.filter((name) => !ownNames.has(name));
}
