// This test is long because it starts several database servers.
// A short test of the same code: tools/admin/continuous/wal-position.spec.ts
import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { migrateDatabase } from '@muster/database';
import { Client } from 'pg';
import { startDevStack, type DevStack } from '../dev-stack/src/dev-stack';
import { type ObjectStore, startObjectStore } from '../dev-stack/src/object-store/object-store';
import type { StoredSecrets } from '../start/stored-secrets';
import { runAdminCommand } from './backup.harness';
import { listBackups, paths } from './backup/manifest';
import { takeContinuousBackup } from './continuous/take-continuous-backup';
import { parsePieceFileName } from './continuous/wal-position';
import { buildLocalS3Environment, createStorage, type Installation, openRunningInstallation } from './installation';
import { FolderPlace } from './place/folder-place';

const environment = { MUSTER_BACKUP_PASSPHRASE: 'a passphrase of this test' };
const secrets: StoredSecrets = {
  masterKeys: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  cronSecret: 'c',
  s3AccessKeyId: 'muster',
  s3SecretAccessKey: 'a secret of this test',
};

let root: string;
let source: Source;

/** A data folder whose database and object store run in this process. */
interface Source {
  dataDir: string;
  stack: DevStack;
  store: ObjectStore;
}

async function startSource(dataDir: string, own: StoredSecrets = secrets): Promise<Source> {
  await mkdir(join(dataDir, 'object-store'), { recursive: true });
  const env = { ...process.env };
  delete env['DATABASE_URL'];
  delete env['REDIS_URL'];
  const stack = await startDevStack({ dataDir, durability: 'durable', parts: ['postgres'], env });
  const store = await startObjectStore({
    dataDir: join(dataDir, 'object-store'),
    buckets: ['muster'],
    credentials: { accessKeyId: own.s3AccessKeyId, secretAccessKey: own.s3SecretAccessKey },
  });
  await writeFile(join(dataDir, 'object-store/endpoint'), `${store.endpoint}\n`);
  return { dataDir, stack, store };
}

async function stopSource({ stack, store }: Source): Promise<void> {
  await store.stop();
  await stack.stop();
}

async function query<Row extends object>(url: string, sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

/** Stores a row, and an object to which it refers. */
async function store(name: string): Promise<void> {
  const key = `artifacts/${name}`;
  const storage = createStorage(buildLocalS3Environment(source.store.endpoint, secrets));
  await storage.put(key, Buffer.from(name), 'text/plain');
  await storage.onApplicationShutdown();
  await query(
    source.stack.databaseUrl,
    `WITH o AS (INSERT INTO organization (id, name) VALUES (gen_random_uuid(), $1) RETURNING id),
     a AS (INSERT INTO agent (id, organization_id, name) SELECT gen_random_uuid(), id, 'Agent' FROM o RETURNING *)
     INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
     SELECT gen_random_uuid(), organization_id, id, 'other', 'a.txt', 'text/plain', $2, $3 FROM a`,
    [name, name.length, key],
  );
}

interface Follower {
  place: FolderPlace;
  folder: string;
  bases: string[];
  interruptions: string[];
  /** Waits until the backup contains everything that is stored now. */
  waitUntilSaved(): Promise<Date>;
  stop(): Promise<void>;
}

async function follow(
  options: { open?: () => Promise<Installation>; baseIntervalMs?: number } = {},
): Promise<Follower> {
  const folder = await mkdtemp(join(root, 'backups-'));
  const place = new FolderPlace(folder);
  const stop = new AbortController();
  const bases: string[] = [];
  const interruptions: string[] = [];
  const done = takeContinuousBackup({
    place,
    keys: { passphrase: environment.MUSTER_BACKUP_PASSPHRASE, recipients: [], identities: [] },
    open: () => openRunningInstallation(source.dataDir, {}),
    withKeys: true,
    version: '0.1.0',
    intervalMs: 200,
    signal: stop.signal,
    onProgress: () => undefined,
    onBase: ({ id }) => bases.push(id),
    onInterruption: ({ message }) => interruptions.push(message),
    ...options,
  });
  done.catch(() => undefined);
  await until(async () => bases.length > 0, done);
  return {
    ...{ place, folder, bases, interruptions },
    waitUntilSaved: async () => {
      const now = Date.now();
      let at = new Date(0);
      const readTime = async () => {
        const chunks: Buffer[] = [];
        for await (const chunk of (await place.read(paths.savedUntil(bases.at(-1)!)))!) chunks.push(chunk as Buffer);
        at = new Date((JSON.parse(Buffer.concat(chunks).toString()) as { at: string }).at);
        return at.getTime() >= now;
      };
      await until(readTime, done);
      return at;
    },
    stop: () => {
      stop.abort();
      return done;
    },
  };
}

async function until(met: () => Promise<boolean>, work: Promise<void>): Promise<void> {
  let failure: unknown;
  work.catch((error) => (failure = error));
  while (!(await met())) {
    if (failure) throw failure;
    await delay(50);
  }
}

async function restore(from: string, ...options: string[]) {
  const dataDir = join(root, `restored-${randomUUID()}`);
  const { code, output } = await runAdminCommand(
    ['restore', '--from', from, '--data-dir', dataDir, ...options],
    environment,
  );
  return { dataDir, code, output };
}

/** Starts the restored folder and returns the names of its rows, if the object of each is there. */
async function readRestored(dataDir: string): Promise<{ names: string[]; held: boolean }> {
  const own = JSON.parse(await readFile(join(dataDir, 'secrets.json'), 'utf8')) as StoredSecrets;
  expect(own.masterKeys).toBe(secrets.masterKeys);
  const restored = await startSource(dataDir, own);
  const storage = createStorage(buildLocalS3Environment(restored.store.endpoint, own));
  try {
    const url = restored.stack.databaseUrl;
    const rows = await query<{ name: string; key: string }>(
      url,
      `SELECT o.name, a.storage_key AS key FROM organization o JOIN artifact a ON a.organization_id = o.id ORDER BY 1`,
    );
    for (const { name, key } of rows) {
      const chunks: Buffer[] = [];
      for await (const chunk of (await storage.read(key))!.chunks) chunks.push(chunk as Buffer);
      expect(Buffer.concat(chunks).toString()).toBe(name);
    }
    const holds = await query(url, 'SELECT FROM recovery_hold WHERE released_at IS NULL');
    // The restored database is a primary that accepts writes and replays no log at its next start.
    await query(url, `INSERT INTO organization (id, name) VALUES (gen_random_uuid(), 'after the restore')`);
    expect(await query(url, 'SHOW restore_command')).toEqual([{ restore_command: '' }]);
    return { names: rows.map(({ name }) => name), held: holds.length > 0 };
  } finally {
    await storage.onApplicationShutdown();
    await stopSource(restored);
  }
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'muster-continuous-'));
  const dataDir = join(root, 'data');
  await mkdir(dataDir, { mode: 0o700 });
  await writeFile(join(dataDir, 'secrets.json'), JSON.stringify(secrets));
  source = await startSource(dataDir);
  await migrateDatabase(source.stack.databaseUrl);
});
afterAll(async () => {
  await stopSource(source);
  await rm(root, { recursive: true, force: true });
});
beforeEach(async () => {
  await query(source.stack.databaseUrl, 'DELETE FROM artifact');
  await query(source.stack.databaseUrl, 'DELETE FROM organization');
});

describe('a continuous backup', () => {
  it('after SIGKILL of the database, everything that was saved is restored, and an earlier time too', async () => {
    await store('before the base backup');
    const follower = await follow();
    await store('first');
    await follower.waitUntilSaved();
    await delay(1100);
    const between = new Date();
    await delay(1100);
    await store('second');
    await follower.waitUntilSaved();
    process.kill(source.stack.postgres!.pid, 'SIGKILL');
    await follower.stop();
    await source.stack.postgres!.restart();

    const newest = await restore(follower.folder);
    expect(newest).toMatchObject({ code: 0, output: expect.stringContaining('was restored and verified') });
    expect(await readRestored(newest.dataDir)).toEqual({
      names: ['before the base backup', 'first', 'second'],
      held: true,
    });
    const earlier = await restore(follower.folder, '--to-time', between.toISOString());
    expect(earlier.code).toBe(0);
    expect((await readRestored(earlier.dataDir)).names).toEqual(['before the base backup', 'first']);

    const verified = await runAdminCommand(['verify', '--from', follower.folder], environment);
    expect(verified).toMatchObject({ code: 0, output: expect.stringMatching(/can be restored to a time from/) });
  });

  it('a time outside the backup, a damaged piece of the log and a missing one leave the target untouched', async () => {
    await store('a row');
    const follower = await follow();
    await follower.waitUntilSaved();
    await query(source.stack.databaseUrl, 'SELECT pg_switch_wal()');
    await store('another row');
    await follower.waitUntilSaved();
    await follower.stop();
    const refuse = async (message: RegExp, ...options: string[]) => {
      const { dataDir, code, output } = await restore(follower.folder, ...options);
      expect(output).toMatch(message);
      expect(code).toBe(1);
      expect(await readdir(dataDir).catch(() => null)).toBeNull();
    };
    await refuse(
      /No backup in .* can be restored to 2020-.*; the continuous backups reach from/,
      '--to-time',
      '2020-01-01T00:00:00Z',
    );
    const [id] = follower.bases;
    await refuse(/can be restored to a time from .* to /, '--backup', id!, '--to-time', '2100-01-01T00:00:00Z');
    const pieces = (await readdir(join(follower.folder, 'backups', id!, 'wal'))).filter(parsePieceFileName).sort();
    expect(pieces.length).toBeGreaterThan(1);
    const first = join(follower.folder, 'backups', id!, 'wal', pieces[0]!);
    const before = await readFile(first);
    const changed = Buffer.from(before);
    changed[changed.length - 20]! ^= 1;
    await writeFile(first, changed);
    await refuse(/The file backups\/.*\/wal\/.* is damaged/);
    await rm(first);
    await refuse(/The log of the backup .* is incomplete: [0-9A-F]{24} is missing/);
    await writeFile(first, before);
    expect((await restore(follower.folder)).code).toBe(0);
  });

  it('a restarted database is followed without a new base backup', async () => {
    const follower = await follow();
    await store('before');
    await source.stack.postgres!.restart();
    process.kill(source.stack.postgres!.pid, 'SIGKILL');
    await source.stack.postgres!.restart();
    await store('after');
    await follower.waitUntilSaved();
    await follower.stop();
    expect(follower.bases).toHaveLength(1);
    const { dataDir, code } = await restore(follower.folder);
    expect(code).toBe(0);
    expect((await readRestored(dataDir)).names).toEqual(['after', 'before']);
  });

  it('if the server has removed a part of the log, another base backup is taken', async () => {
    let isAway = false;
    const follower = await follow({
      open: () => (isAway ? Promise.reject(new Error('away')) : openRunningInstallation(source.dataDir, {})),
    });
    isAway = true;
    await source.stack.postgres!.restart();
    await store('while nobody follows');
    for (let segment = 0; segment < 12; segment += 1)
      await query(
        source.stack.databaseUrl,
        `SELECT pg_logical_emit_message(false, 'filler', repeat('x', 1000000)) FROM generate_series(1, 15)`,
      ).then(() => query(source.stack.databaseUrl, 'CHECKPOINT'));
    isAway = false;
    while (follower.bases.length < 2) await delay(100);
    await follower.waitUntilSaved();
    await follower.stop();
    expect(follower.interruptions).toContainEqual(expect.stringMatching(/removed the segment/));
    const { dataDir, code } = await restore(follower.folder);
    expect(code).toBe(0);
    expect((await readRestored(dataDir)).names).toEqual(['while nobody follows']);
  });

  it('a new base backup replaces the old one, and prune removes that', async () => {
    const follower = await follow({ baseIntervalMs: 1500 });
    await store('a row');
    while (follower.bases.length < 2) await delay(100);
    await follower.waitUntilSaved();
    await follower.stop();
    const pruned = await runAdminCommand(['prune', '--from', follower.folder, '--keep', 'last=1'], environment);
    expect(pruned.code).toBe(0);
    const left = await listBackups(follower.place);
    expect(left.filter(({ manifest }) => manifest)).toHaveLength(1);
    const { dataDir, code } = await restore(follower.folder);
    expect(code).toBe(0);
    expect((await readRestored(dataDir)).names).toEqual(['a row']);
  });

  it('the command refuses a data folder that is not running, and a place without --data-dir', async () => {
    const at = ['--to', join(root, 'elsewhere'), '--continuous'];
    const idle = join(root, 'idle');
    await mkdir(idle);
    await writeFile(join(idle, 'secrets.json'), JSON.stringify(secrets));
    expect(await runAdminCommand(['backup', ...at, '--data-dir', idle], environment)).toMatchObject({
      code: 1,
      output: expect.stringContaining('No Muster is running on'),
    });
    expect(await runAdminCommand(['backup', ...at], environment)).toMatchObject({
      code: 2,
      output: expect.stringContaining('--continuous needs --data-dir'),
    });
  });
});
