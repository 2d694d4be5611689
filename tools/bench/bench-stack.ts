import { migrate } from '@muster/database';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDevStack } from '../dev-stack/src/dev-stack';

export interface BenchStack {
  databaseUrl: string;
  redisUrl: string;
}

/** A Postgres and a Redis as durable as those of `npm start`, for one benchmark, gone when it is done. */
export async function onBenchStack(work: (stack: BenchStack) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'muster-bench-'));
  const stack = await startDevStack({ dataDir, durability: 'durable' });
  try {
    await migrate(stack.databaseUrl);
    await work(stack);
  } finally {
    await stack.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
}
