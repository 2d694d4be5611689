import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { migrations } from '@muster/database';
import { type ClonedDatabase, cloneDatabase, buildTestEnvironment } from '@muster/testing';
import { examineInstallation, type ExaminedInstallation } from './doctor/examine-installation';
import { createStorage } from './installation';
import { FolderPlace } from './place/folder-place';
import { version } from './version';

describe('muster-admin doctor', () => {
  let database: ClonedDatabase;
  let client: Client;
  let folder: string;
  let target: ExaminedInstallation;
  const listFindings = async (changed: Partial<ExaminedInstallation> = {}) =>
    (await examineInstallation({ ...target, ...changed })).findings.map(({ level, message }) => `${level}: ${message}`);

  beforeAll(async () => {
    database = await cloneDatabase();
    folder = await mkdtemp(join(tmpdir(), 'muster-doctor-'));
    client = new Client({ connectionString: database.url });
    await client.connect();
    const environment = buildTestEnvironment(database.url);
    const storage = createStorage(environment);
    const closeStorage = () => storage.onApplicationShutdown();
    target = {
      databaseUrl: database.url,
      storage,
      environment,
      close: closeStorage,
      version,
      minFreePercent: 0,
      now: new Date(),
    };
  });
  afterAll(async () => {
    await target.close();
    await client.end();
    await database.drop();
    await rm(folder, { recursive: true });
  });

  it('muster-admin doctor reports only that --backups is not set for a healthy installation', async () => {
    expect(await listFindings()).toEqual([
      expect.stringMatching(/^warning: The age of the newest backup was not checked/),
    ]);
  });

  it('muster-admin doctor reports what is wrong and what to do, in sentences', async () => {
    await client.query(`
      INSERT INTO outbox (id, queue, name, payload, next_publish_at) VALUES
        (gen_random_uuid(), 'dispatch', 'dispatch-agent', '{}', now() - interval '1 hour'),
        (gen_random_uuid(), 'metering', 'job-finished', '{}', NULL);
      INSERT INTO loop_run (name, app, host, interval_ms, began_at, duration_ms, error) VALUES
        ('sweep dispatch', 'dispatcher', 'a', 1000, now() - interval '1 hour', 1, NULL),
        ('sweep outbox', 'scheduler', 'a', 1000, now(), 1, 'out of room');
      INSERT INTO schema_migration (timestamp, name) VALUES (1900000000000, 'Later1900000000000');
      INSERT INTO organization (id, name) VALUES ('00000000-0000-4000-8000-000000000001', 'Practice');
      INSERT INTO agent (id, organization_id, name, provider, status, worker_version)
        VALUES (gen_random_uuid(), '00000000-0000-4000-8000-000000000001', 'a', 'external', 'online', '0.0.9');
      DELETE FROM schema_migration WHERE id = 1`);
    const broken = createStorage({ ...target.environment, S3_BUCKET: 'missing-bucket' });
    const place = new FolderPlace(folder);
    const environment = { ...target.environment, MASTER_KEYS: 'k1:short' };
    const first = migrations[0]!.name;
    expect(await listFindings({ storage: broken, backups: place, environment })).toEqual([
      'fault: MASTER_KEYS: key k1 must be 32 bytes in base64: secrets in the database cannot be decrypted.',
      `fault: 1 migrations of Muster ${version} have not run, the first is ${first}: run them before you start its apps.`,
      expect.stringMatching(/^warning: The database belongs to a newer version than this .*Later1900000000000/),
      expect.stringMatching(/^fault: 1 messages of the queue dispatch have waited for more than 5 minutes/),
      expect.stringMatching(/^warning: 1 dead letters are in the queue metering/),
      'fault: The loop “sweep dispatch” last ran 60 minutes ago: is dispatcher running?',
      'fault: The loop “sweep outbox” of scheduler fails: out of room',
      `warning: 1 connected machines run worker 0.0.9 instead of ${version}: run muster worker upgrade.`,
      expect.stringMatching(/^fault: An object could not be written, read and deleted in the bucket/),
      `fault: There is no complete backup in ${folder}: run muster-admin backup.`,
    ]);
    await broken.onApplicationShutdown();
  });

  it('muster-admin doctor reports each app that is connected with another version, once', async () => {
    const connectAs = async (name: string) => {
      const app = new Client({ connectionString: database.url, application_name: name });
      await app.connect();
      return app;
    };
    const names = ['muster-ingest 0.0.9', 'muster-ingest 0.0.9', `muster-gateway ${version}`, 'muster-listener'];
    const apps = await Promise.all(names.map(connectAs));
    try {
      expect((await listFindings()).filter((each) => each.includes('The app'))).toEqual([
        `warning: The app ingest runs version 0.0.9 instead of ${version}: complete or undo the rollout, or use the muster-admin of that version.`,
      ]);
    } finally {
      await Promise.all(apps.map((app) => app.end()));
    }
  });

  it('muster-admin doctor warns of super_admins who need no second factor at a public address', async () => {
    await client.query(`
      INSERT INTO organization (id, name) VALUES ('00000000-0000-4000-8000-000000000002', 'Operator');
      INSERT INTO organization_settings (organization_id) VALUES ('00000000-0000-4000-8000-000000000002')
        ON CONFLICT DO NOTHING;
      INSERT INTO app_user (id, organization_id, email, role, password_hash, must_enrol, second_factor_since, disabled)
        SELECT gen_random_uuid(), '00000000-0000-4000-8000-000000000002', email, role, '', must_enrol, since, disabled
        FROM (VALUES
          ('root@example.com', 'super_admin', false, NULL::timestamptz, false),
          ('configured@example.com', 'super_admin', true, NULL, false),
          ('careful@example.com', 'super_admin', false, now(), false),
          ('gone@example.com', 'super_admin', false, NULL, true),
          ('admin@example.com', 'admin', false, NULL, false)) AS u (email, role, must_enrol, since, disabled)`);
    const findAt = async (address: string | undefined) => {
      const environment = { ...target.environment, PUBLIC_APP_URL: address };
      return (await listFindings({ environment })).filter((each) => each.includes('super_admin'));
    };
    expect(await findAt('http://muster.example.com')).toEqual([
      'warning: 1 super_admins can sign in with a password alone at http://muster.example.com: set up a second factor in Settings → Security, or require one in Settings → Sign-in.',
    ]);
    for (const address of ['http://localhost:3000', 'http://[::1]:3000', undefined]) {
      expect([address, await findAt(address)]).toEqual([address, []]);
    }
    await client.query('UPDATE organization_settings SET require_second_factor = true');
    expect(await findAt('http://muster.example.com')).toEqual([]);
  });

  it('muster-admin doctor reports a disk with less free space than --min-free', async () => {
    const full = new RegExp(`^fault: The disk of ${folder} has \\d+ % free space, less than 100 %`);
    expect(await listFindings({ dataDir: folder, minFreePercent: 100 })).toContainEqual(expect.stringMatching(full));
    expect((await listFindings({ dataDir: folder, minFreePercent: 0 })).join()).not.toContain('The disk');
  });

  it('muster-admin doctor reports a database that does not answer', async () => {
    expect(await listFindings({ databaseUrl: 'postgres://muster@127.0.0.1:1/muster' })).toEqual([
      expect.stringMatching(/^fault: The database does not answer \(.+\): start it, or correct DATABASE_URL\.$/),
    ]);
  });
});
