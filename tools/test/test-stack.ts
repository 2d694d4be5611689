import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { Client } from 'pg';
import { migrate } from '@muster/database';
import { startDevStack } from '../dev-stack/src/dev-stack';
import { startObjectStore } from '../dev-stack/src/object-store/object-store';

const templateDatabase = 'muster_template';

/** A Postgres, a Redis and an object store of this test run's own, on free ports, gone with it. */
export async function startTestStack(dataDir: string) {
  const credentials = { accessKeyId: 'test', secretAccessKey: randomBytes(24).toString('base64url') };
  const [stack, store] = await Promise.all([
    startServers(dataDir),
    startObjectStore({ dataDir: `${dataDir}/object-store`, buckets: ['muster'], credentials }),
  ]);
  const database = await makeTemplate(stack.databaseUrl);
  return {
    facts: {
      databaseUrl: stack.databaseUrl,
      templateDatabase: database,
      redisUrl: stack.redisUrl,
      s3: { endpoint: store.endpoint, region: 'us-east-1', bucket: 'muster', ...credentials },
    },
    stop: async () => {
      await Promise.all([stack.stop(), store.stop()]);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function startServers(dataDir: string) {
  if (process.env['MUSTER_TEST_CONTAINERS'] !== 'true') return startDevStack({ dataDir, durability: 'fast' });
  const { startContainers } = await import('./container-stack.js');
  return startContainers();
}

/** Migrated once; every test file clones it. A server that was there before may hold another run's. */
async function makeTemplate(databaseUrl: string): Promise<string> {
  const name = `${templateDatabase}_${randomBytes(4).toString('hex')}`;
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`);
  await client.end();
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  await migrate(url.toString());
  return name;
}
