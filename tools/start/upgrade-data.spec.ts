import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrateDatabase, migrations, createOwnerDataSource } from '@muster/database';
import { type ClonedDatabase, cloneDatabase } from '@muster/testing';
import { upgradeData } from './upgrade-data';
import type { UpgradeData } from './save-before-upgrade';

describe('data of another version', () => {
  let database: ClonedDatabase;
  let dataDir: string;
  const lines: string[] = [];
  const newest = migrations.slice(-2).map(({ name }) => name);
  const buildUpgradeOptions = (options: Partial<UpgradeData> = {}): UpgradeData => ({
    databaseUrl: database.url,
    dataDir,
    backup: true,
    pending: newest.length,
    say: (line) => lines.push(line),
    ...options,
  });

  beforeAll(async () => {
    database = await cloneDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'muster-upgrade-'));
    const source = await createOwnerDataSource(database.url).initialize();
    for (const _ of newest) await source.undoLastMigration();
    await source.query("INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'Practice')");
    await source.destroy();
  });
  beforeEach(() => lines.splice(0));
  afterAll(async () => {
    await database.drop();
    await rm(dataDir, { recursive: true });
  });

  it('data of an older version is restored from the backup if a migration fails', async () => {
    const upgradeDatabase = async (url: string) => {
      await migrateDatabase(url, { only: migrations.slice(0, -1).map(({ name }) => name) });
      await querySql("UPDATE organization SET name = 'half changed'");
      throw new Error('no room\nat line 1');
    };
    await expect(upgradeData(buildUpgradeOptions({ run: upgradeDatabase }))).rejects.toThrow(
      /could not be migrated to Muster \S+ \(no room\); it was restored from the backup \S+Z\./,
    );
    expect(lines).toEqual([
      expect.stringMatching(/^the data is of an older version \(2 migrations\): backing it up into .*backups first$/),
      expect.stringMatching(/^backup \S+ is complete; migrating the data to Muster/),
      'the migration failed: restoring the backup',
    ]);
    expect(await querySql('SELECT name FROM organization')).toEqual([{ name: 'Practice' }]);
    expect(await querySql('SELECT name FROM schema_migration WHERE name = ANY($1)', [newest])).toEqual([]);
  });

  it('data of an older version is backed up before its migration, which stores the new version', async () => {
    expect(await upgradeData(buildUpgradeOptions())).toEqual(newest);
    expect(lines).toHaveLength(2);
    expect(await readFile(join(dataDir, 'version'), 'utf8')).toMatch(/^\d+\.\d+\.\d+\n$/);
    expect(await querySql('SELECT name FROM organization')).toEqual([{ name: 'Practice' }]);
    expect(await upgradeData(buildUpgradeOptions({ pending: 0 }))).toEqual([]);
    expect(lines).toHaveLength(2);
  });

  it('data of a newer version is refused with an error that names the migration that is too new', async () => {
    await querySql("INSERT INTO schema_migration (timestamp, name) VALUES (1900000000000, 'Later1900000000000')");
    await expect(upgradeData(buildUpgradeOptions({ pending: 0 }))).rejects.toThrow(
      /belongs to a newer version than this one \(\S+\): it has the migration Later1900000000000\. Start the version that created it/,
    );
  });

  async function querySql(sql: string, values: unknown[] = []): Promise<unknown[]> {
    const client = new Client({ connectionString: database.url });
    await client.connect();
    try {
      return (await client.query(sql, values)).rows;
    } finally {
      await client.end();
    }
  }
});
