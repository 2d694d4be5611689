// This test is long because it starts servers of two versions of Postgres.
// A short test of the same code: tools/start/upgrade-data.spec.ts
import { existsSync } from 'node:fs';
import { cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrateDatabase } from '@muster/database';
import { Client } from 'pg';
import { type DevStack, startDevStack } from '../../dev-stack/src/dev-stack';
import { findPostgresUpgrade, getClusterFolder, getOldClusterFolder } from './find-upgrade';
import { upgradeCluster } from './upgrade-cluster';

const [older, newer] = [15, 18];
const hasOlder = existsSync(`/usr/lib/postgresql/${older}/bin/postgres`);
/** Tests that need both versions: Debian's and that of the npm package. */
const withBoth = hasOlder ? it : it.skip;

let root: string;
const env = { ...process.env };
delete env['DATABASE_URL'];
delete env['REDIS_URL'];
const lines: string[] = [];
const upgrade = { from: older!, to: newer! };

const start = (dataDir: string, postgresMajor?: number) =>
  startDevStack({ dataDir, durability: 'durable', parts: ['postgres'], env, postgresMajor });
const run = (dataDir: string, options = upgrade) =>
  upgradeCluster({ dataDir, upgrade: options, env, say: (line) => lines.push(line) });

async function query<Row extends object>({ databaseUrl }: DevStack, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Creates a data folder of the older version with one organization. */
async function createOldFolder(): Promise<string> {
  const dataDir = await mkdtemp(join(root, 'data-'));
  const stack = await start(dataDir, older);
  try {
    await migrateDatabase(stack.databaseUrl);
    await query(stack, `INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'Practice')`);
  } finally {
    await stack.stop();
  }
  return dataDir;
}

async function readFolder(dataDir: string) {
  const stack = await start(dataDir);
  try {
    const [{ version }] = (await query<{ version: string }>(
      stack,
      `SELECT current_setting('server_version') AS version`,
    )) as [{ version: string }];
    const names = await query<{ name: string }>(stack, 'SELECT name FROM organization');
    const holds = await query(stack, 'SELECT FROM recovery_hold');
    return { major: parseInt(version, 10), names: names.map(({ name }) => name), holds: holds.length };
  } finally {
    await stack.stop();
  }
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'muster-postgres-upgrade-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));
beforeEach(() => lines.splice(0));

describe('the upgrade of a data folder to a newer major version of Postgres', () => {
  withBoth(
    'moves every row, puts nothing on hold, and removes the old files (skipped without Postgres 15)',
    async () => {
      const dataDir = await createOldFolder();
      await run(dataDir);
      expect(lines).toEqual([
        `the database was created by Postgres ${older}: backing it up to move it to Postgres ${newer}`,
        expect.stringMatching(/^backup \S+ is complete; restoring it into Postgres 18$/),
        expect.stringMatching(/^postgres: creating the database/),
        'the database was moved to Postgres 18',
      ]);
      expect(await readFolder(dataDir)).toEqual({ major: newer, names: ['Practice'], holds: 0 });
      expect(existsSync(getOldClusterFolder(dataDir, upgrade))).toBe(false);
      // The server on PATH is older than the data now, so nothing is upgraded.
      expect(await findPostgresUpgrade(dataDir, env)).toBeNull();
    },
  );

  withBoth('returns to the old files if it fails or was killed (skipped without Postgres 15)', async () => {
    const dataDir = await createOldFolder();
    await expect(run(dataDir, { from: older!, to: 99 })).rejects.toThrow(
      /^The database could not be moved to Postgres 99 \(.*\); its files of Postgres 15 are unchanged\.$/,
    );
    expect(await readFolder(dataDir)).toEqual({ major: older, names: ['Practice'], holds: 0 });
    // Killed while the new files were incomplete.
    await rename(getClusterFolder(dataDir), getOldClusterFolder(dataDir, upgrade));
    await cp(join(getOldClusterFolder(dataDir, upgrade), 'base'), getClusterFolder(dataDir), { recursive: true });
    expect(await findPostgresUpgrade(dataDir, env)).toBeNull();
    expect((await readFile(join(getClusterFolder(dataDir), 'PG_VERSION'), 'utf8')).trim()).toBe(String(older));
    expect((await readFolder(dataDir)).names).toEqual(['Practice']);
  });
});
