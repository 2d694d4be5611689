import { migrateDatabase } from '@muster/database';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { Redis } from 'ioredis';
import { startDevStack } from '../dev-stack/src/dev-stack';
import { short } from './short';

export interface BenchStack {
  databaseUrl: string;
  redisUrl: string;
  /** Process ids of the servers. They run on this machine. */
  postgresPid: number;
  redisPid: number;
  /** Folder with the servers' files and logs. */
  dataDir: string;
}

/** Runs `work` with a Postgres and a Redis that are as durable as those of `npm start`, and removes them afterwards. */
export async function runOnBenchStack(work: (stack: BenchStack) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  const stack = await startDevStack({ dataDir, durability: short ? 'fast' : 'durable' });
  try {
    await migrateDatabase(stack.databaseUrl);
    await work({ ...stack, ...(await findServerProcesses(stack)), dataDir });
  } finally {
    for (const name of created.splice(0)) await executeSql(stack.databaseUrl, `DROP DATABASE ${name} WITH (FORCE)`);
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

const created: string[] = [];

/**
 * Creates another database on the stack's server, empty or with the service's schema. It exists until the stack stops.
 */
export async function createDatabase({ databaseUrl }: BenchStack, { migrated = false } = {}): Promise<string> {
  const url = new URL(databaseUrl);
  const name = `bench_${randomBytes(6).toString('hex')}`;
  const template = migrated ? url.pathname.slice(1) : `template0 ENCODING 'UTF8'`;
  await executeSql(databaseUrl, `CREATE DATABASE ${name} TEMPLATE ${template}`);
  created.push(name);
  url.pathname = `/${name}`;
  return url.toString();
}

async function executeSql(databaseUrl: string, text: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(text).finally(() => client.end());
}

async function findServerProcesses({ databaseUrl, redisUrl }: Pick<BenchStack, 'databaseUrl' | 'redisUrl'>) {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const stat = await readFile(`/proc/${rows[0]!.pid}/stat`, 'utf8');
  await client.end();
  const redis = new Redis(redisUrl);
  const info = await redis.info('server');
  redis.disconnect();
  return {
    postgresPid: Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]),
    redisPid: Number(/process_id:(\d+)/.exec(info)![1]),
  };
}
