import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Database, DatabaseModule } from '@muster/database';
import { BaseConfig, createApp, type Environment, loadConfig } from '@muster/platform';

/**
 * Opens the database at DATABASE_URL, or the one of `npm start` (MUSTER_DATA_DIR, .muster/data), for a command that
 * runs while `npm start` runs.
 */
export async function openStartDatabase(): Promise<{ database: Database; close: () => Promise<void> }> {
  const { nest, close } = await createApp({
    // The gateway processes no queues.
    name: 'gateway',
    configs: [loadConfig(BaseConfig, readEnvironment())],
    modules: [DatabaseModule],
  });
  await nest.init();
  return { database: nest.get(Database), close };
}

function readEnvironment(): Environment {
  const set = process.env;
  return {
    DATABASE_URL: set['DATABASE_URL'] ?? readUrlOfStart(resolve(set['MUSTER_DATA_DIR'] ?? '.muster/data')),
    // REDIS_URL and MASTER_KEYS are required but not used: no message is enqueued and no secret is decrypted.
    REDIS_URL: set['REDIS_URL'] ?? 'redis://127.0.0.1:6379',
    MASTER_KEYS: set['MASTER_KEYS'] ?? `none:${randomBytes(32).toString('base64')}`,
    PUBLIC_APP_URL: 'http://127.0.0.1',
    LOG_LEVEL: 'error',
    DATABASE_POOL_SIZE: '2',
  };
}

function readUrlOfStart(dataDir: string): string {
  const readTextFile = (name: string) => readFileSync(join(dataDir, 'postgres', name), 'utf8').trim();
  try {
    return `postgres://muster:${readTextFile('password')}@127.0.0.1:${readTextFile('port')}/muster`;
  } catch {
    console.error(
      `There is no database below ${dataDir}: set DATABASE_URL, or MUSTER_DATA_DIR to the data folder of npm start.`,
    );
    process.exit(2);
  }
}
