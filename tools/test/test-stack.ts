import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { migrateDatabase } from '@muster/database';
import { startDevStack } from '../dev-stack/src/dev-stack';
import { findPillow } from '../dev-stack/src/pillow';
import { startObjectStore } from '../dev-stack/src/object-store/object-store';

const templateDatabase = 'muster_template';

/**
 * Starts a Postgres, a Redis and an object store on free ports for this test run only, or uses those that the
 * environment specifies.
 */
export async function startTestStack(dataDir: string) {
  const [servers, store, pillow] = await Promise.all([
    startServers(dataDir),
    startStore(dataDir),
    findPillowFor(dataDir),
  ]);
  const template = await createTemplateDatabase(servers.databaseUrl);
  const servicesDir = join(dataDir, 'services');
  await mkdir(servicesDir);
  return {
    facts: {
      databaseUrl: servers.databaseUrl,
      templateDatabase: template,
      redisUrl: servers.redisUrl,
      s3: store.facts,
      servicesDir,
      pillow,
    },
    stop: async () => {
      await endSharedServices(servicesDir);
      if (process.env['DATABASE_URL'])
        await runSql(servers.databaseUrl, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`);
      await Promise.all([servers.stop(), store.stop()]);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function endSharedServices(folder: string): Promise<void> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  await Promise.all(
    files.map(async (name) => {
      const { pid, dataDir } = JSON.parse(await readFile(join(folder, name), 'utf8')) as {
        pid: number;
        dataDir: string;
      };
      if (isAlive(pid)) process.kill(pid, 'SIGTERM');
      for (let waits = 0; isAlive(pid) && waits < 300; waits += 1) await setTimeout(100);
      await rm(dataDir, { recursive: true, force: true });
    }),
  );
}

function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}/cwd`) && !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

/**
 * Returns the variables with which the workers of tests find Pillow. Null if it is not available; tests that need it
 * are skipped.
 */
async function findPillowFor(dataDir: string) {
  const found = await findPillow({ dataDir, env: process.env, onProgress: () => undefined }).catch(() => null);
  return Array.isArray(found) ? null : found;
}

async function startStore(dataDir: string) {
  const { S3_ENDPOINT, S3_REGION, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = process.env;
  const region = S3_REGION ?? 'us-east-1';
  const bucket = S3_BUCKET ?? 'muster';
  if (S3_ENDPOINT) {
    const credentialsOfEnv = { accessKeyId: S3_ACCESS_KEY_ID ?? '', secretAccessKey: S3_SECRET_ACCESS_KEY ?? '' };
    return { facts: { endpoint: S3_ENDPOINT, region, bucket, ...credentialsOfEnv }, stop: async () => undefined };
  }
  const credentials = { accessKeyId: 'test', secretAccessKey: randomBytes(24).toString('base64url') };
  const store = await startObjectStore({ dataDir: `${dataDir}/object-store`, region, buckets: [bucket], credentials });
  return { facts: { endpoint: store.endpoint, region, bucket, ...credentials }, stop: () => store.stop() };
}

async function startServers(dataDir: string) {
  if (process.env['MUSTER_TEST_CONTAINERS'] !== 'true') return startDevStack({ dataDir, durability: 'fast' });
  const { startContainers } = await import('./container-stack.js');
  return startContainers();
}

/**
 * Creates the database that every test file clones. Its name is random, because the server may have a template of
 * another run.
 */
async function createTemplateDatabase(databaseUrl: string): Promise<string> {
  const name = `${templateDatabase}_${randomBytes(4).toString('hex')}`;
  await runSql(databaseUrl, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'UTF8'`);
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  await migrateDatabase(url.toString());
  return name;
}

async function runSql(databaseUrl: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}
