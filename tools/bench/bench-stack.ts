import { migrate } from '@muster/database';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { Redis } from 'ioredis';
import { startDevStack } from '../dev-stack/src/dev-stack';

export interface BenchStack {
  databaseUrl: string;
  redisUrl: string;
  /** The servers, which run on this machine. */
  postgresPid: number;
  redisPid: number;
}

/** A Postgres and a Redis as durable as those of `npm start`, for one benchmark, gone when it is done. */
export async function onBenchStack(work: (stack: BenchStack) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  const stack = await startDevStack({ dataDir, durability: 'durable' });
  try {
    await migrate(stack.databaseUrl);
    await work({ ...stack, ...(await serversOf(stack)) });
  } finally {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function serversOf({ databaseUrl, redisUrl }: Pick<BenchStack, 'databaseUrl' | 'redisUrl'>) {
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
