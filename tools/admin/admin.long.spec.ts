// This test is long because it takes and restores many backups.
// A short test of the same code: tools/start/upgrade-data.spec.ts
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { Client } from 'pg';
import { migrations } from '@muster/database';
import type { Environment } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import {
  seedLargeOrganization,
  type ClonedDatabase,
  cloneDatabase,
  emptyDatabase,
  openPool,
  longForm,
  testEnvironment,
  testStack,
} from '@muster/testing';
import { connect } from './backup/dump-database';
import { chooseBackup, listBackups, type Manifest, paths, readManifest, writeManifest } from './backup/manifest';
import { objectQueries } from './backup/object-keys';
import { retainedTimesOf, parseKeep, pruneBackups } from './backup/prune-backups';
import { Repository } from './backup/repository';
import { takeBackup } from './backup/take-backup';
import { verifyBackup } from './backup/verify-backup';
import { storageOf } from './installation';
import { FolderPlace } from './place/folder-place';
import { openPlace } from './place/open-place';
import { restoreBackup } from './restore/restore-backup';
import { runAdmin } from './run-admin';

const quiet = () => undefined;
let root: string;
let source: ClonedDatabase;
let client: Client;
let environment: Environment;
let storage: ObjectStorage;
let identity: string;
let recipient: string;
let folder: string;
const databases: ClonedDatabase[] = [];
const storages: ObjectStorage[] = [];

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'muster-admin-'));
  folder = join(root, 'backups');
  identity = await generateX25519Identity();
  recipient = await identityToRecipient(identity);
  source = await cloneDatabase();
  databases.push(source);
  client = new Client({ connectionString: source.url });
  await client.connect();
  await seedLargeOrganization(client, { jobs: 300, agents: 20, entries: 600 });
  ({ environment, storage } = await placeFor(source));
  await client.query('DELETE FROM artifact');
  const { rows } = await client.query<{ key: string }>(
    `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
     SELECT gen_random_uuid(), organization_id, id, 'other', 'a.png', 'image/png', 1, 'artifacts/' || id
     FROM agent LIMIT 5 RETURNING storage_key AS key`,
  );
  for (const { key } of rows) await storage.put(key, Buffer.from(key), 'image/png');
});

afterAll(async () => {
  await client.end();
  for (const each of storages) await each.onApplicationShutdown();
  for (const { url, drop } of databases) {
    await dropSide(url);
    await drop();
  }
  await rm(root, { recursive: true, force: true });
});

describe('a backup', () => {
  it('the restore of a backup returns every row and object unchanged', async () => {
    const { tables, objects } = await backUp();
    expect(tables.find(({ name }) => name === 'job')!.rows).toBe(300);
    expect(objects).toMatchObject({ count: 5, added: 5 });
    const target = await emptyTarget();
    const manifest = await restore(target);
    expect(await rowsIn(target.database)).toEqual({ ...(await rowsIn(source)), recovery_hold: 1 });
    expect(await schemaOf(target.database)).toEqual(await schemaOf(source));
    const [row] = (await client.query<{ key: string }>('SELECT storage_key AS key FROM artifact LIMIT 1')).rows;
    const restored = await target.storage.read(row!.key);
    expect(restored).toMatchObject({ contentType: 'image/png', size: row!.key.length });
    for await (const chunk of restored!.chunks) expect(Buffer.from(chunk).toString()).toBe(row!.key);
    expect(manifest.masterKeys).toBe('left out');
  });

  it('a backup saves only the objects that no earlier backup has, and counts rows whose object does not exist', async () => {
    const key = await nameObject(`artifacts/new-${randomBytes(4).toString('hex')}`);
    await storage.put(key, Buffer.from(key), 'text/plain');
    const absent = await nameObject('artifacts/absent');
    const before = await chooseBackup(new FolderPlace(folder));
    const { objects } = await backUp();
    expect(objects).toMatchObject({ count: 6, added: 1, absent: before.objects.absent + 1 });
    await client.query('DELETE FROM artifact WHERE storage_key = ANY($1)', [[key, absent]]);
  });

  it('a backup that was interrupted is never treated as complete', async () => {
    const before = await chooseBackup(new FolderPlace(folder));
    const attempt = backUp({ onProgress: failAt(30) });
    await expect(attempt).rejects.toThrow('interrupted here');
    const all = await listBackups(new FolderPlace(folder));
    const interrupted = all.find(({ manifest }) => !manifest)!;
    expect((await chooseBackup(new FolderPlace(folder))).id).toBe(before.id);
    await expect(readManifest(new FolderPlace(folder), interrupted.id)).rejects.toThrow(
      /was interrupted before it was complete/,
    );
  });

  it('a backup contains the master keys only with the option withKeys', async () => {
    const place = new FolderPlace(join(root, 'with-keys'));
    const manifest = await backUp({ place, withKeys: true });
    expect(manifest).toMatchObject({ masterKeys: 'included', masterKeyIds: ['test'] });
    const files = await readdir(join(root, 'with-keys'), { recursive: true, withFileTypes: true });
    const texts = await Promise.all(
      files.filter((each) => each.isFile()).map((each) => readFile(join(each.parentPath, each.name), 'latin1')),
    );
    expect(texts.join()).not.toContain(environment['MASTER_KEYS']!.split(':')[1]);
  });

  it('a backup saves the objects of every column that contains an object key', async () => {
    const { rows } = await client.query<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name ~ '(storage|screenshot|upload|frame|object)_key$' AND table_name <> 'object_removal'`,
    );
    expect(Object.keys(objectQueries)).toEqual(expect.arrayContaining(rows.map(({ name }) => name)));
  });

  it('a backup can be stored in a bucket', async () => {
    const { place, close } = openPlace(`s3://${environment['S3_BUCKET']}/saved/here`, environment);
    const manifest = await backUp({ place });
    const repository = await Repository.open(place, { recipients: [], identities: [identity] });
    await verifyBackup(repository, manifest, quiet);
    expect((await listBackups(place)).map(({ id }) => id)).toEqual([manifest.id]);
    await close();
  });
});

describe('a restore', () => {
  it('a restore that is interrupted at any step leaves its target untouched until it is resumed', async () => {
    const target = await emptyTarget();
    const steps: string[] = [];
    await restore(await emptyTarget(), { onProgress: (line) => steps.push(line) });
    // The steps before the database is loaded are repeated by each restore; tables that were loaded stay loaded.
    const first = steps.indexOf('database: creating the tables') + 2;
    const cuts = longForm('RESTORE_CUTS', { short: 4, long: 10 });
    for (let part = 1; part < cuts; part += 1) {
      const attempt = restore(target, { onProgress: failAt(first + Math.floor((steps.length - first) / cuts)) });
      await expect(attempt).rejects.toThrow('interrupted here');
      expect(await rowsIn(target.database)).toEqual({});
    }
    const { tables } = await restore(target);
    expect(await rowsIn(target.database)).toMatchObject(
      Object.fromEntries(tables.map(({ name, rows }) => [name, name === 'recovery_hold' ? 1 : rows])),
    );
  });

  const wrong: Record<
    string,
    { change?: (id: string) => Promise<() => Promise<void>>; keys?: () => Promise<string>; message: RegExp }
  > = {
    'one byte of a table was changed': {
      change: (id) => changeByte(paths.table(id, 'job')),
      message: /^The file backups\/.*\/tables\/job\.copy\.gz\.age in .* is damaged: it was changed after/,
    },
    'one byte of the manifest was changed': {
      change: (id) => changeByte(paths.manifest(id), 'id": "', 'id": "X'),
      message: /is damaged: its backup\.json was changed/,
    },
    'one byte of an object was changed': {
      change: async () => changeByte(await anObject()),
      message: /^The file objects\/.* in .* is damaged: it cannot be decrypted/,
    },
    'one object is missing': {
      change: async () => {
        const path = join(folder, await anObject());
        const bytes = await readFile(path);
        await rm(path);
        return () => writeFile(path, bytes);
      },
      message: /^The object .* is missing in /,
    },
    'the wrong key is used': {
      keys: () => generateX25519Identity(),
      message: /were encrypted with another key: set --identity to the file with the secret key of age1/,
    },
    'the backup was made by a newer version': {
      change: async (id) => {
        const path = join(folder, paths.manifest(id));
        const bytes = await readFile(path);
        const place = new FolderPlace(folder);
        const manifest = await readManifest(place, id);
        const names = [...migrations.map(({ name }) => name), 'Later1900000000000'];
        await writeManifest(place, { ...manifest, version: '9.0.0', migrations: names });
        return () => writeFile(path, bytes);
      },
      message: /was made by Muster 9\.0\.0, which is newer than this one .*Later1900000000000/,
    },
  };

  for (const [how, { change, keys, message }] of Object.entries(wrong))
    it(`a restore fails with a sentence and changes nothing if ${how}`, async () => {
      const { id } = await chooseBackup(new FolderPlace(folder));
      const undo = await change?.(id);
      const target = await emptyTarget();
      const restored = restore(target, { identity: await keys?.() });
      await expect(restored.finally(() => undo?.())).rejects.toThrow(message);
      expect(await rowsIn(target.database)).toEqual({});
    });

  it('a restore is refused if the database has tables', async () => {
    await expect(restore({ database: source, environment, storage })).rejects.toThrow(/is not empty \(\d+ tables\)/);
  });

  it('a restored service has a recovery hold that one release ends; a second release changes nothing', async () => {
    const target = await emptyTarget();
    const { id, takenAt } = await restore(target);
    const pool = openPool(target.database, 1);
    const rows = async () => (await pool.query('SELECT backup, saved_at, released_at FROM recovery_hold')).rows;
    expect(await rows()).toEqual([{ backup: id, saved_at: new Date(takenAt), released_at: null }]);
    await pool.query("UPDATE schedule SET enabled = true, next_run_at = now() - interval '1 hour'");
    const { rows: schedules } = await pool.query<{ name: string }>('SELECT name FROM schedule');
    const released = await admin(['release'], target.environment);
    expect(released).toMatchObject({
      code: 0,
      output: expect.stringContaining(`Released the service that was restored from the backup ${id}; `),
    });
    for (const { name } of schedules) expect(released.output).toContain(`, ${name}, due since `);
    expect((await rows())[0].released_at).not.toBeNull();
    const [{ released_at: releasedAt }] = await rows();
    expect(await admin(['release'], target.environment)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/already released at .*; nothing was changed/),
    });
    expect((await rows())[0].released_at).toEqual(releasedAt);
    expect(await admin(['release'], environment)).toMatchObject({
      code: 1,
      output: expect.stringMatching(/nothing to release/),
    });
    await pool.end();
  });

  it('a restore creates a data folder that can be backed up again', async () => {
    const dataDir = join(root, 'data');
    const identityFile = join(root, 'identity');
    await writeFile(identityFile, `# made for a test\n${identity}\n`);
    const from = ['--from', folder, '--identity', identityFile, '--data-dir', dataDir];
    const { MASTER_KEYS } = environment;
    expect(await admin(['restore', ...from], environment)).toMatchObject({
      code: 0,
      output: expect.stringContaining('The backup has no master keys: set MASTER_KEYS (test) to start the service.'),
    });
    const secrets = await readFile(join(dataDir, 'secrets.json'), 'utf8');
    expect(JSON.parse(secrets)).not.toHaveProperty('masterKeys');
    expect(secrets).not.toContain(MASTER_KEYS!.split(':')[1]);
    const again = await admin(
      ['backup', '--to', join(root, 'second'), '--data-dir', dataDir, '--recipient', recipient],
      {},
    );
    expect(again.output).toMatch(
      /^Backup .* rows of \d+ tables, 6 objects \(6 new; 9 that rows refer to are not in the bucket\)\.$/m,
    );
    expect(again.code).toBe(0);
    const [first, second] = await Promise.all(
      [folder, join(root, 'second')].map((each) => chooseBackup(new FolderPlace(each))),
    );
    const checksums = (tables: Manifest['tables']) =>
      tables.filter(({ name }) => name !== 'recovery_hold').map(({ name, rows, hash }) => ({ name, rows, hash }));
    expect(checksums(second!.tables)).toEqual(checksums(first!.tables));
    expect((await readdir(root)).filter((name) => name.startsWith('data.'))).toEqual([]);
  });
});

describe('pruning', () => {
  it('the rules for pruning retain the newest backup of each of the newest periods', () => {
    const at = (text: string) => new Date(text);
    const all = [
      ...['2026-03-02T08:00Z', '2026-03-02T20:00Z', '2026-03-09T08:00Z', '2026-03-10T08:00Z', '2026-03-11T08:00Z'],
    ].map(at);
    const retained = [...retainedTimesOf(all, parseKeep('daily=2,weekly=2'))].map((each) =>
      each.toISOString().slice(0, 16),
    );
    expect(retained.sort()).toEqual(['2026-03-02T20:00', '2026-03-10T08:00', '2026-03-11T08:00']);
    expect(() => parseKeep('dayly=1')).toThrow(/"dayly=1" is not a valid --keep rule/);
  });

  it('pruning removes the other backups and the objects that no remaining backup refers to', async () => {
    const place = new FolderPlace(join(root, 'pruned'));
    const key = await nameObject('artifacts/only-once');
    await storage.put(key, Buffer.from('once'), 'text/plain');
    await backUp({ place, now: new Date('2026-03-02T08:00Z') });
    await client.query('DELETE FROM artifact WHERE storage_key = $1', [key]);
    const later = await backUp({ place, now: new Date('2026-03-03T08:00Z') });
    const outcome = await pruneBackups(place, { keep: { last: 1 }, now: new Date('2026-03-03T09:00Z') });
    expect(outcome).toEqual({ removed: ['2026-03-02T08-00-00Z'], retained: [later.id], objects: 1 });
    await verifyBackup(await Repository.open(place, { recipients: [], identities: [identity] }), later, quiet);
  });
});

let taken = 0;

function backUp(options: Partial<Parameters<typeof takeBackup>[0]> = {}) {
  taken += 1;
  return takeBackup({
    place: new FolderPlace(folder),
    keys: { recipients: [recipient], identities: [] },
    databaseUrl: source.url,
    storage,
    environment,
    withKeys: false,
    version: '0.1.0',
    jobs: 2,
    now: new Date(Date.UTC(2026, 0, 1, 0, 0, taken)),
    onProgress: quiet,
    ...options,
  });
}

type Target = Awaited<ReturnType<typeof placeFor>> & { database: ClonedDatabase };

function restore(target: Target, options: { onProgress?: (line: string) => void; identity?: string } = {}) {
  return restoreBackup({
    place: new FolderPlace(folder),
    keys: { recipients: [], identities: [options.identity ?? identity] },
    environment: target.environment,
    jobs: 2,
    onProgress: options.onProgress ?? quiet,
  });
}

async function emptyTarget(): Promise<Target> {
  const database = await emptyDatabase();
  databases.push(database);
  return { database, ...(await placeFor(database)) };
}

/** Creates a separate bucket for the database. */
async function placeFor(database: ClonedDatabase): Promise<{ environment: Environment; storage: ObjectStorage }> {
  const { s3 } = testStack();
  const bucket = `admin-${randomBytes(6).toString('hex')}`;
  const made = new S3Client({ endpoint: s3.endpoint, region: s3.region, forcePathStyle: true, credentials: s3 });
  await made.send(new CreateBucketCommand({ Bucket: bucket }));
  made.destroy();
  const own = testEnvironment(database.url, { S3_BUCKET: bucket });
  const ownStorage = storageOf(own);
  storages.push(ownStorage);
  return { environment: own, storage: ownStorage };
}

async function nameObject(key: string): Promise<string> {
  await client.query(
    `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key)
     SELECT gen_random_uuid(), organization_id, agent_id, kind, filename, content_type, 1, $1 FROM artifact LIMIT 1`,
    [key],
  );
  return key;
}

async function rowsIn({ url }: ClonedDatabase): Promise<Record<string, number>> {
  const reader = await connect(url);
  try {
    const { rows } = await reader.query<{ name: string; rows: string }>(
      `SELECT relname AS name, (xpath('//n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', relname), false, true, '')))[1]::text AS rows
       FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
    );
    return Object.fromEntries(rows.map((row) => [row.name, Number(row.rows)]));
  } finally {
    await reader.end();
  }
}

async function schemaOf({ url }: ClonedDatabase): Promise<unknown[]> {
  const reader = await connect(url);
  try {
    const { rows } = await reader.query(`
      SELECT 'index' AS kind, tablename AS a, indexdef AS b FROM pg_indexes WHERE schemaname = 'public'
      UNION ALL SELECT 'constraint', conrelid::regclass::text, conname || pg_get_constraintdef(oid)
        FROM pg_constraint WHERE connamespace = 'public'::regnamespace
      UNION ALL SELECT 'rows of', relname, relrowsecurity::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
      UNION ALL SELECT 'trigger', tgrelid::regclass::text, tgname || tgenabled::text FROM pg_trigger WHERE NOT tgisinternal
      UNION ALL SELECT 'grant', table_name, grantee || privilege_type FROM information_schema.table_privileges WHERE table_schema = 'public'
      ORDER BY 1, 2, 3`);
    return rows;
  } finally {
    await reader.end();
  }
}

async function dropSide(url: string): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const server = await connect(testStack().databaseUrl);
  await server.query(`DROP DATABASE IF EXISTS "${name}_restoring" WITH (FORCE)`);
  await server.end();
}

function failAt(step: number): () => void {
  let seen = 0;
  return () => {
    seen += 1;
    if (seen === step) throw new Error('interrupted here');
  };
}

async function anObject(): Promise<string> {
  for await (const path of new FolderPlace(folder).list('objects/')) {
    const { id } = await chooseBackup(new FolderPlace(folder));
    const names = await readFile(join(folder, paths.objectNames(id)));
    const { gunzipSync } = await import('node:zlib');
    if (gunzipSync(names).toString().includes(path.split('/').at(-1)!.replace('.age', ''))) return path;
  }
  throw new Error('there is no object');
}

/** Changes one byte near the end of a file, or replaces one text with another. Returns the function that undoes it. */
async function changeByte(path: string, from?: string, to?: string): Promise<() => Promise<void>> {
  const file = join(folder, path);
  const before = await readFile(file);
  const after = from ? Buffer.from(before.toString().replace(from, to!)) : Buffer.from(before);
  if (!from) after[after.length - 20]! ^= 1;
  await writeFile(file, after);
  return () => writeFile(file, before);
}

async function admin(args: string[], env: Environment): Promise<{ code: number; output: string }> {
  let output = '';
  const stream = { write: (text: string) => Boolean((output += text)), isTTY: false } as unknown as NodeJS.WriteStream;
  return { code: await runAdmin(args, env, { stdout: stream, stderr: stream }), output };
}
