import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { readTestStack } from '../stack';

export interface ClonedDatabase {
  url: string;
  name: string;
  drop(): Promise<void>;
}

/** Creates a database for one test file, with the current schema and no rows. */
export function cloneDatabase(): Promise<ClonedDatabase> {
  return createDatabase(`TEMPLATE ${readTestStack().templateDatabase}`);
}

/** Creates an empty database for tests of the migrations. */
export function createEmptyDatabase(): Promise<ClonedDatabase> {
  return createDatabase(`TEMPLATE template0 ENCODING 'UTF8'`);
}

/** Opens connections that are separate from those of the app. */
export function openPool({ url }: ClonedDatabase, max = 10): Pool {
  const pool = new Pool({ connectionString: url, max });
  // `end` does not wait until the server has closed the connections, so dropping the database may abort one that is
  // about to close.
  pool.on('error', () => undefined);
  return pool;
}

async function createDatabase(from: string): Promise<ClonedDatabase> {
  const { databaseUrl } = readTestStack();
  const name = `test_${randomBytes(8).toString('hex')}`;
  await executeAsAdmin(databaseUrl, `CREATE DATABASE ${name} ${from}`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  return {
    url: url.toString(),
    name,
    drop: () => executeAsAdmin(databaseUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

async function executeAsAdmin(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
