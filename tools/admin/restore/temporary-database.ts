import { Client } from 'pg';
import { AdminError } from '../admin-error';
import { connectTo, quoteIdentifier, queryRows } from '../backup/dump-database';
import type { Manifest } from '../backup/manifest';
import type { Repository } from '../backup/repository';

export interface RestoreDatabaseOptions {
  databaseUrl: string;
  repository: Repository;
  manifest: Manifest;
  jobs: number;
  /** Whether the restored database replaces one that has data. */
  replace?: boolean;
  /** Whether to migrate the restored database to the schema of this version. Default: true. */
  upgrade?: boolean;
  onProgress: (line: string) => void;
}

export interface TemporaryDatabase {
  /** URL of the temporary database. */
  url: string;
  name: string;
  targetName: string;
}

type Target = Pick<RestoreDatabaseOptions, 'databaseUrl' | 'manifest' | 'replace'>;

/** Creates the temporary database, or finds the one of an interrupted restore of the same backup. */
export async function openTemporaryDatabase({ databaseUrl, manifest, replace }: Target): Promise<TemporaryDatabase> {
  const targetName = getDatabaseName(databaseUrl);
  const name = `${targetName}_restoring`.slice(-63);
  const temporary = { url: replaceDatabaseName(databaseUrl, name), name, targetName };
  await runOnServer(databaseUrl, async (server) => {
    if (!replace) await requireEmptyServerDatabase(server, databaseUrl);
    if (await databaseExists(server, name)) {
      const left = await readMark(temporary.url);
      if (left === manifest.id) return;
      if (left === null)
        throw new AdminError(
          `The database ${name} is not empty and was not created by a restore; remove or rename it first.`,
        );
      await server.query(`DROP DATABASE ${quoteIdentifier(name)}`);
    }
    await server.query(`CREATE DATABASE ${quoteIdentifier(name)} TEMPLATE template0 ENCODING 'UTF8'`);
    const client = await connectTo(temporary.url);
    await client.query('CREATE SCHEMA muster_restore');
    await client.query(`CREATE TABLE muster_restore.source AS SELECT '${manifest.id}' AS id`);
    await client.end();
  });
  return temporary;
}

/** Renames the temporary database to the target's name. */
export async function finishRestore(
  { databaseUrl, replace }: Target,
  { url, name, targetName }: TemporaryDatabase,
): Promise<void> {
  const client = await connectTo(url);
  await client.query('DROP SCHEMA muster_restore CASCADE');
  await client.end();
  await runOnServer(databaseUrl, async (server) => {
    const before = `${targetName}_replaced`.slice(-63);
    if (!replace) await requireEmptyServerDatabase(server, databaseUrl);
    await server.query(`DROP DATABASE IF EXISTS ${quoteIdentifier(before)} WITH (FORCE)`);
    if (await databaseExists(server, targetName)) {
      await endConnections(server, targetName);
      await server.query(`ALTER DATABASE ${quoteIdentifier(targetName)} RENAME TO ${quoteIdentifier(before)}`);
    }
    await server.query(`ALTER DATABASE ${quoteIdentifier(name)} RENAME TO ${quoteIdentifier(targetName)}`);
    await server.query(`DROP DATABASE IF EXISTS ${quoteIdentifier(before)} WITH (FORCE)`);
  });
}

export function requireEmptyDatabase(databaseUrl: string): Promise<void> {
  return runOnServer(databaseUrl, (server) => requireEmptyServerDatabase(server, databaseUrl));
}

async function requireEmptyServerDatabase(server: Client, databaseUrl: string): Promise<void> {
  const name = getDatabaseName(databaseUrl);
  if (!(await databaseExists(server, name))) return;
  const client = await connectTo(databaseUrl);
  try {
    const [{ tables }] = await queryRows<{ tables: string }>(
      client,
      `SELECT count(*) AS tables FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_|^information_schema$'`,
    );
    if (Number(tables) > 0)
      throw new AdminError(
        `The database ${name} is not empty (${tables} tables); restore into an empty one. Nothing was changed.`,
      );
  } finally {
    await client.end();
  }
}

async function readMark(url: string): Promise<string | null> {
  const client = await connectTo(url);
  try {
    const [{ marked }] = await queryRows<{ marked: boolean }>(
      client,
      "SELECT to_regclass('muster_restore.source') IS NOT NULL AS marked",
    );
    if (marked) return (await queryRows<{ id: string }>(client, 'SELECT id FROM muster_restore.source'))[0].id;
    const [{ tables }] = await queryRows<{ tables: string }>(
      client,
      "SELECT count(*) AS tables FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace",
    );
    // The restore was interrupted before it wrote the mark.
    return Number(tables) === 0 ? 'nothing' : null;
  } finally {
    await client.end();
  }
}

async function endConnections(server: Client, name: string): Promise<void> {
  await server.query(
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()',
    [name],
  );
}

async function databaseExists(server: Client, name: string): Promise<boolean> {
  return (await server.query('SELECT FROM pg_database WHERE datname = $1', [name])).rowCount === 1;
}

/** Connects to the database `postgres` of the same server: a database with connections cannot be renamed. */
async function runOnServer<Result>(databaseUrl: string, work: (server: Client) => Promise<Result>): Promise<Result> {
  const server = await connectTo(replaceDatabaseName(databaseUrl, 'postgres'));
  try {
    return await work(server);
  } finally {
    await server.end();
  }
}

function getDatabaseName(databaseUrl: string): string {
  return decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
}

function replaceDatabaseName(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl);
  url.pathname = `/${encodeURIComponent(name)}`;
  return url.toString();
}
