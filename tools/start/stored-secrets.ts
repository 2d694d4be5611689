import { randomBytes } from 'node:crypto';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from './options';

/** Secrets that are generated at the first start and stored next to the data that they encrypt. */
export interface StoredSecrets {
  /** Master keys; absent if the data folder was restored from a backup without them. */
  masterKeys?: string;
  cronSecret: string;
  s3AccessKeyId: string;
  s3SecretAccessKey: string;
}

export async function readOrCreateSecrets(dataDir: string): Promise<StoredSecrets> {
  const stored = await readJson<StoredSecrets>(join(dataDir, 'secrets.json'));
  if (stored) return stored;
  const created: StoredSecrets = {
    masterKeys: `k1:${randomBytes(32).toString('base64')}`,
    cronSecret: randomBytes(24).toString('base64url'),
    s3AccessKeyId: 'muster',
    s3SecretAccessKey: randomBytes(24).toString('base64url'),
  };
  await writeJson(join(dataDir, 'secrets.json'), created);
  return created;
}

/** Returns the master keys of the environment, else those of the data folder. */
export function chooseMasterKeys({ masterKeys }: StoredSecrets, env: NodeJS.ProcessEnv): string {
  const known = env['MASTER_KEYS'] || masterKeys;
  if (known) return known;
  throw new StartError(
    'The data folder was restored from a backup without the master keys: set MASTER_KEYS to the keys of the installation that was backed up.',
  );
}

/**
 * Credentials that the first start prints. They are stored until they are printed, so that a start that fails halfway
 * does not lose them.
 */
export interface FirstCredentials {
  BOOTSTRAP_ORGANIZATION: string;
  BOOTSTRAP_ADMIN_EMAIL: string;
  BOOTSTRAP_ADMIN_PASSWORD: string;
  BOOTSTRAP_SUPER_ADMIN_EMAIL: string;
  BOOTSTRAP_SUPER_ADMIN_PASSWORD: string;
  BOOTSTRAP_API_KEY: string;
  BOOTSTRAP_WORKER_KEY: string;
}

export async function readOrCreateFirstCredentials(dataDir: string, env: NodeJS.ProcessEnv): Promise<FirstCredentials> {
  const file = join(dataDir, 'first-start.json');
  const stored = (await readJson<FirstCredentials>(file)) ?? {
    BOOTSTRAP_ORGANIZATION: 'My organization',
    BOOTSTRAP_ADMIN_EMAIL: 'admin@muster.local',
    BOOTSTRAP_ADMIN_PASSWORD: randomBytes(12).toString('base64url'),
    BOOTSTRAP_SUPER_ADMIN_EMAIL: 'super@muster.local',
    BOOTSTRAP_SUPER_ADMIN_PASSWORD: randomBytes(12).toString('base64url'),
    BOOTSTRAP_API_KEY: generateKey(),
    BOOTSTRAP_WORKER_KEY: generateKey(),
  };
  const specified = Object.fromEntries(
    Object.keys(stored).flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  ) as Partial<FirstCredentials>;
  const credentials = { ...stored, ...specified };
  await writeJson(file, credentials);
  return credentials;
}

export async function deleteFirstCredentials(dataDir: string): Promise<void> {
  await rm(join(dataDir, 'first-start.json'), { force: true });
}

function generateKey(): string {
  return `msk_${randomBytes(6).toString('hex')}_${randomBytes(32).toString('base64url')}`;
}

async function readJson<T>(file: string): Promise<T | null> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  return text === null ? null : (JSON.parse(text) as T);
}

async function writeJson(file: string, value: object): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
