import { setTimeout as delay } from 'node:timers/promises';
import type { DataSource, QueryRunner } from 'typeorm';
import { ownerDataSource } from './data-source';
import { migrations } from './migrations';

const lockKey = 7_301_001;

export interface MigrateOptions {
  /** Runs these alone, to bring an empty database to the version of a backup. */
  only?: readonly string[];
}

/** Brings the database to this code's version. Two at once wait for each other. Answers the names it ran. */
export async function migrate(url: string, { only }: MigrateOptions = {}): Promise<string[]> {
  const chosen = only ? migrations.filter(({ name }) => only.includes(name)) : migrations;
  const source = await ownerDataSource(url, chosen).initialize();
  try {
    const gate = source.createQueryRunner();
    await gate.startTransaction();
    // Held by a transaction that does nothing else, because each migration has a transaction of its own.
    await lockMigrations(gate);
    try {
      const before = await migrationsIn(source);
      await runAll(source);
      return chosen.map(({ name }) => name).filter((name) => !before.has(name));
    } finally {
      await gate.rollbackTransaction();
      await gate.release();
    }
  } finally {
    await source.destroy();
  }
}

/**
 * Waits without a snapshot: CREATE INDEX CONCURRENTLY waits for each that others hold, so one who waited in a statement,
 * or whose statement had parameters and left its portal open, would hold it up for ever.
 */
async function lockMigrations(gate: QueryRunner): Promise<void> {
  for (;;) {
    const [row] = (await gate.query(`SELECT pg_try_advisory_xact_lock(${lockKey}) AS locked`)) as { locked: boolean }[];
    if (row!.locked) return;
    await delay(lockLookMs);
  }
}

const lockLookMs = 100;
const lockNotAvailable = '55P03';
const lockPauseMs = 500;
const lockPatienceMs = 10 * 60_000;

/**
 * Statements of the service queue behind a migration that waits for a lock, so it waits for one as long as
 * `migrationLockTimeoutMs` alone. Then its transaction is rolled back, those get their turn, and it is tried again.
 */
async function runAll(source: DataSource): Promise<void> {
  const deadline = Date.now() + lockPatienceMs;
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

async function migrationsIn(source: DataSource): Promise<Set<string>> {
  const [table] = await source.query<{ found: string | null }[]>("SELECT to_regclass('schema_migration') AS found");
  const rows = table!.found ? await source.query<{ name: string }[]>('SELECT name FROM schema_migration') : [];
  return new Set(rows.map(({ name }) => name));
}

/** Migrations of this code that the database has not seen. */
export async function pendingMigrations(query: DataSource['query']): Promise<string[]> {
  const rows = await query<{ name: string }[]>('SELECT name FROM schema_migration');
  const seen = new Set(rows.map(({ name }) => name));
  return migrations.map(({ name }) => name).filter((name) => !seen.has(name));
}

/** Migrations that the database has seen and this code does not know: a newer version made them. */
export async function unknownMigrations(url: string): Promise<string[]> {
  const source = await ownerDataSource(url).initialize();
  try {
    return unknownAmong([...(await migrationsIn(source))]);
  } finally {
    await source.destroy();
  }
}

export function unknownAmong(names: readonly string[]): string[] {
  const known = new Set(migrations.map(({ name }) => name));
  return names.filter((name) => !known.has(name));
}
