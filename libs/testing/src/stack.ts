import { BaseConfig, type Environment, loadConfig } from '@muster/platform';
import { StorageConfig } from '@muster/storage';
import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** What the test run started for all its files; tools/test/global-setup.cjs writes it. */
export interface TestStack {
  /** The server, with a migrated template database. */
  databaseUrl: string;
  templateDatabase: string;
  redisUrl: string;
  s3: { endpoint: string; region: string; bucket: string; accessKeyId: string; secretAccessKey: string };
  /** Where services that spec files share are noted, for the run to end them. */
  servicesDir: string;
  /** The variables by which a worker finds Pillow; null: there is none here. */
  pillow: Record<string, string> | null;
}

export function testStack(): TestStack {
  const text = process.env['MUSTER_TEST_STACK'];
  if (!text) throw new Error('the tests’ Postgres and Redis are not there: run them with npm test or npx jest');
  return JSON.parse(text) as TestStack;
}

export const testMasterKey = `test:${Buffer.alloc(32, 7).toString('base64')}`;

/** An app's environment on the test stack, apart from every other test's. */
export function testEnvironment(databaseUrl: string, overrides: Environment = {}): Environment {
  const { redisUrl, s3 } = testStack();
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
    // Many do the same at once on few connections, on machines that may be busy.
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

export function testConfig(databaseUrl: string, overrides: Environment = {}): BaseConfig {
  return loadConfig(StorageConfig, testEnvironment(databaseUrl, overrides));
}
