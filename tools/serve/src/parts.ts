import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startDevStack } from '../../dev-stack/src/dev-stack';
import { startObjectStore } from '../../dev-stack/src/object-store/object-store';
import { readOrCreateFirstCredentials, chooseMasterKeys, readOrCreateSecrets } from '../../start/stored-secrets';
import { describeIfUnconfined } from '../../start/describe-if-unconfined';
import { commonEnvironment, getDevFolder } from './environment';

export interface Parts {
  environment: Record<string, string>;
  /** Whether the accounts of the first organization were created by this start. */
  firstStart: boolean;
  stop(): Promise<void>;
}

/**
 * Starts Postgres, Redis and the object store, or uses those that the environment specifies. Returns the variables that
 * apps need.
 */
export async function startParts(root: string, say: (line: string) => void): Promise<Parts> {
  const dataDir = getDevFolder(root);
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const firstStart = !existsSync(join(dataDir, 'first-start.json'));
  const { env } = process;
  const warning = await describeIfUnconfined(dataDir, env);
  if (warning) say(warning);
  const secrets = await readOrCreateSecrets(dataDir);
  const credentials = await readOrCreateFirstCredentials(dataDir, env);
  const stack = await startDevStack({ dataDir, durability: 'durable', keepAlive: true, env, onProgress: say });
  const s3 = { accessKeyId: secrets.s3AccessKeyId, secretAccessKey: secrets.s3SecretAccessKey };
  try {
    const store = env['S3_ENDPOINT']
      ? undefined
      : await startObjectStore({ dataDir: join(dataDir, 'object-store'), buckets: ['muster'], credentials: s3 });
    return {
      firstStart,
      environment: {
        ...commonEnvironment,
        LOCAL_AGENTS: 'true',
        LOCAL_AGENTS_DIR: join(dataDir, 'agents'),
        MASTER_KEYS: chooseMasterKeys(secrets, env),
        CRON_SECRET: secrets.cronSecret,
        ...credentials,
        DATABASE_URL: stack.databaseUrl,
        REDIS_URL: stack.redisUrl,
        ...(store
          ? {
              S3_ENDPOINT: store.endpoint,
              S3_THROUGH_SERVICE: 'true',
              S3_BUCKET: 'muster',
              S3_REGION: 'us-east-1',
              S3_ACCESS_KEY_ID: s3.accessKeyId,
              S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
            }
          : { S3_ENDPOINT: env['S3_ENDPOINT']! }),
      },
      stop: async () => {
        await Promise.all([store?.stop(), stack.stop()]);
      },
    };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}
