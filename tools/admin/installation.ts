import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Environment, loadConfig, Readiness } from '@muster/platform';
import { ObjectStorage, StorageConfig } from '@muster/storage';
import { startDevStack } from '../dev-stack/src/dev-stack';
import { waitForEndOf } from '../dev-stack/src/folder-lock';
import { startObjectStore } from '../dev-stack/src/object-store/object-store';
import type { StoredSecrets } from '../start/stored-secrets';
import { AdminError } from './admin-error';

/** The database and the object storage that a command works on. */
export interface Installation {
  databaseUrl: string;
  storage: ObjectStorage;
  environment: Environment;
  close(): Promise<void>;
}

/** Opens the data folder of `npm start`, or the installation that DATABASE_URL and S3_* specify. */
export async function openInstallation(dataDir: string | undefined, environment: Environment): Promise<Installation> {
  if (dataDir) return openFolderInstallation(resolve(dataDir), environment);
  const databaseUrl = environment['DATABASE_URL'];
  if (!databaseUrl)
    throw new AdminError('No installation was specified: set DATABASE_URL and S3_*, or use --data-dir.');
  const storage = createStorage(environment);
  return { databaseUrl, storage, environment, close: () => storage.onApplicationShutdown() };
}

async function openFolderInstallation(dataDir: string, environment: Environment): Promise<Installation> {
  const secrets = await readSecrets(dataDir);
  const isRunning = (await waitForEndOf(dataDir)) === 'held';
  const parts = isRunning ? await readAddresses(dataDir) : await startParts(dataDir, secrets);
  return connectToParts(parts, { secrets, environment });
}

/** Opens the data folder of a running `npm start`. */
export async function openRunningInstallation(dataDir: string, environment: Environment): Promise<Installation> {
  const folder = resolve(dataDir);
  const secrets = await readSecrets(folder);
  if ((await waitForEndOf(folder)) !== 'held')
    throw new AdminError(`No Muster is running on ${folder}; a continuous backup follows a running one.`);
  return connectToParts(await readAddresses(folder), { secrets, environment });
}

function connectToParts(
  { databaseUrl, endpoint, stop }: { databaseUrl: string; endpoint: string; stop: () => Promise<void> },
  { secrets, environment }: { secrets: StoredSecrets; environment: Environment },
): Installation {
  const own = {
    ...environment,
    DATABASE_URL: databaseUrl,
    MASTER_KEYS: environment['MASTER_KEYS'] ?? secrets.masterKeys,
    ...buildLocalS3Environment(endpoint, secrets),
  };
  const storage = createStorage(own);
  return {
    databaseUrl,
    storage,
    environment: own,
    close: async () => {
      await storage.onApplicationShutdown();
      await stop();
    },
  };
}

/**
 * Addresses of a running installation. Commands connect to its Postgres and its object store, because no other process
 * may open their files.
 */
async function readAddresses(dataDir: string) {
  const readFileOrThrow = (name: string) => readFile(join(dataDir, name), 'utf8').then((text) => text.trim());
  try {
    const [port, password, endpoint] = await Promise.all(
      ['postgres/port', 'postgres/password', 'object-store/endpoint'].map(readFileOrThrow),
    );
    return {
      databaseUrl: `postgres://muster:${password}@127.0.0.1:${port}/muster`,
      endpoint: endpoint!,
      stop: async () => undefined,
    };
  } catch (error) {
    throw new AdminError(
      `The Muster on ${dataDir} uses a database or an object store outside the folder (${(error as Error).message}): stop it first, or set DATABASE_URL and S3_*.`,
    );
  }
}

/** Starts the Postgres and the object store of a data folder while a command works on it. */
export async function startParts(dataDir: string, secrets: StoredSecrets) {
  const stack = await startDevStack({
    dataDir,
    durability: 'durable',
    parts: ['postgres'],
    env: omitUrls(process.env),
  });
  const store = await startObjectStore({
    dataDir: join(dataDir, 'object-store'),
    buckets: ['muster'],
    credentials: { accessKeyId: secrets.s3AccessKeyId, secretAccessKey: secrets.s3SecretAccessKey },
  });
  return {
    databaseUrl: stack.databaseUrl,
    endpoint: store.endpoint,
    stop: async () => {
      await store.stop();
      await stack.stop();
    },
  };
}

export function buildLocalS3Environment(endpoint: string, secrets: StoredSecrets): Environment {
  return {
    S3_ENDPOINT: endpoint,
    S3_BUCKET: 'muster',
    S3_REGION: 'us-east-1',
    S3_ACCESS_KEY_ID: secrets.s3AccessKeyId,
    S3_SECRET_ACCESS_KEY: secrets.s3SecretAccessKey,
  };
}

/** The object storage that S3_* specify. The other variables of its configuration class are not used. */
export function createStorage(environment: Environment): ObjectStorage {
  const unused = {
    DATABASE_URL: 'postgres://unused',
    REDIS_URL: 'redis://unused',
    MASTER_KEYS: `unused:${randomBytes(32).toString('base64')}`,
  };
  const s3 = Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('S3_')));
  return new ObjectStorage(loadConfig(StorageConfig, { ...unused, ...s3 }), new Readiness());
}

async function readSecrets(dataDir: string): Promise<StoredSecrets> {
  try {
    return JSON.parse(await readFile(join(dataDir, 'secrets.json'), 'utf8')) as StoredSecrets;
  } catch {
    throw new AdminError(`${dataDir} is not a data folder of npm start: it has no secrets.json.`);
  }
}

function omitUrls({ DATABASE_URL: _, REDIS_URL: __, ...rest }: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return rest;
}
