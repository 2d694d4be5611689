import { BaseConfig, type Environment, loadConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The services that a test run starts for all of its files. tools/test/global-setup.cjs writes this. */
export interface TestStack {
  /** URL of the Postgres server, which has a migrated template database. */
  databaseUrl: string;
  templateDatabase: string;
  redisUrl: string;
  s3: { endpoint: string; region: string; bucket: string; accessKeyId: string; secretAccessKey: string };
  /** Folder with notes about the services that spec files share, so that the run can end them. */
  servicesDir: string;
  /** Environment variables by which a worker finds Pillow; null if Pillow is not installed. */
  pillow: Record<string, string> | null;
}

export function readTestStack(): TestStack {
  const text = process.env['MUSTER_TEST_STACK'];
  if (!text) throw new Error('Postgres and Redis for tests are not running; run the tests with npm test or npx jest');
  return JSON.parse(text) as TestStack;
}

export const testMasterKey = `test:${Buffer.alloc(32, 7).toString('base64')}`;

/** Returns the environment of an app on the test stack, separate from all other tests. */
export function buildTestEnvironment(databaseUrl: string, overrides: Environment = {}): Environment {
  const { redisUrl, s3 } = readTestStack();
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: `t${randomBytes(6).toString('hex')}`,
    PUBLIC_APP_URL: 'http://muster.test',
    MASTER_KEYS: testMasterKey,
    PORT: '0',
    INTERNAL_PORT: '0',
    LOG_LEVEL: 'debug',
    DATABASE_POOL_SIZE: '5',
    // The timeout is longer than in production, because tests send many requests at once over few connections, on
    // machines that can be busy.
    DATABASE_CONNECT_TIMEOUT_MS: '20000',
    LOCAL_AGENTS: 'true',
    LOCAL_AGENTS_DIR: join(tmpdir(), `muster-agents-${randomBytes(6).toString('hex')}`),
    S3_ENDPOINT: s3.endpoint,
    S3_REGION: s3.region,
    S3_BUCKET: s3.bucket,
    S3_ACCESS_KEY_ID: s3.accessKeyId,
    S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
    ...overrides,
  };
}

export function loadTestConfig(databaseUrl: string, overrides: Environment = {}): BaseConfig {
  return loadConfig(StorageConfig, buildTestEnvironment(databaseUrl, overrides));
}
