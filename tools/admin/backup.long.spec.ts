// This test is long because it takes many backups.
// A short test of the same code: tools/start/upgrade-data.spec.ts
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { dropPartitions } from '@muster/database';
import type { ClonedDatabase } from '@muster/testing';
import { BackupFixture, failAtStep, ignoreProgress, countRowsByTable } from './backup.harness';
import { connectTo } from './backup/dump-database';
import { chooseBackup, listBackups, readManifest } from './backup/manifest';
import { objectQueries } from './backup/object-keys';
import { parseKeepRule, pruneBackups, selectRetainedTimes } from './backup/prune-backups';
import { Repository } from './backup/repository';
import { verifyBackup } from './backup/verify-backup';
import { FolderPlace } from './place/folder-place';
import { openBackupLocation } from './place/open-place';

let fixture: BackupFixture;

beforeAll(async () => {
  fixture = await BackupFixture.open();
});
afterAll(() => fixture.close());

describe('a backup', () => {
  it('the restore of a backup returns every row and object unchanged', async () => {
    const { tables, objects } = await fixture.takeBackup();
    expect(tables.find(({ name }) => name === 'job')!.rows).toBe(300);
    expect(objects).toMatchObject({ count: 5, added: 5 });
    const target = await fixture.createEmptyTarget();
    const manifest = await fixture.restoreInto(target);
    expect(await countRowsByTable(target.database)).toEqual({
      ...(await countRowsByTable(fixture.source.database)),
      recovery_hold: 1,
    });
    expect(await readSchema(target.database)).toEqual(await readSchema(fixture.source.database));
    const [row] = (await fixture.client.query<{ key: string }>('SELECT storage_key AS key FROM artifact LIMIT 1')).rows;
    const restored = await target.storage.read(row!.key);
    expect(restored).toMatchObject({ contentType: 'image/png', size: row!.key.length });
    for await (const chunk of restored!.chunks) expect(Buffer.from(chunk).toString()).toBe(row!.key);
    expect(manifest.masterKeys).toBe('left out');
  });

  it('a backup saves only the objects that no earlier backup has, and counts rows whose object does not exist', async () => {
    const key = await fixture.insertObjectRow(`artifacts/new-${randomBytes(4).toString('hex')}`);
    await fixture.source.storage.put(key, Buffer.from(key), 'text/plain');
    const absent = await fixture.insertObjectRow('artifacts/absent');
    const before = await chooseBackup(new FolderPlace(fixture.folder));
    const { objects } = await fixture.takeBackup();
    expect(objects).toMatchObject({ count: 6, added: 1, absent: before.objects.absent + 1 });
    await fixture.client.query('DELETE FROM artifact WHERE storage_key = ANY($1)', [[key, absent]]);
  });

  it('a backup that was interrupted is never treated as complete', async () => {
    const before = await chooseBackup(new FolderPlace(fixture.folder));
    const attempt = fixture.takeBackup({ onProgress: failAtStep(30) });
    await expect(attempt).rejects.toThrow('interrupted here');
    const all = await listBackups(new FolderPlace(fixture.folder));
    const interrupted = all.find(({ manifest }) => !manifest)!;
    expect((await chooseBackup(new FolderPlace(fixture.folder))).id).toBe(before.id);
    await expect(readManifest(new FolderPlace(fixture.folder), interrupted.id)).rejects.toThrow(
      /was interrupted before it was complete/,
    );
  });

  it('a backup contains the master keys only with the option withKeys', async () => {
    const place = new FolderPlace(join(fixture.root, 'with-keys'));
    const manifest = await fixture.takeBackup({ place, withKeys: true });
    expect(manifest).toMatchObject({ masterKeys: 'included', masterKeyIds: ['test'] });
    const files = await readdir(join(fixture.root, 'with-keys'), { recursive: true, withFileTypes: true });
    const texts = await Promise.all(
      files.filter((each) => each.isFile()).map((each) => readFile(join(each.parentPath, each.name), 'latin1')),
    );
    expect(texts.join()).not.toContain(fixture.source.environment['MASTER_KEYS']!.split(':')[1]);
  });

  it('a backup saves the objects of every column that contains an object key', async () => {
    const { rows } = await fixture.client.query<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND column_name ~ '(storage|screenshot|upload|frame|object)_key$' AND table_name <> 'object_removal'`,
    );
    expect(Object.keys(objectQueries)).toEqual(expect.arrayContaining(rows.map(({ name }) => name)));
  });

  it('a partition of the timeline that a backup will read is not dropped before the backup ends', async () => {
    const { url } = fixture.source.database;
    // The smallest tables are read last.
    const { rows } = await fixture.client.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
       WHERE i.inhparent = 'timeline_entry'::regclass ORDER BY pg_table_size(c.oid), c.relname LIMIT 1`,
    );
    const { name } = rows[0]!;
    let dropped: Promise<number | null> | undefined;
    const { tables } = await fixture.takeBackup({
      jobs: 1,
      onProgress: () => {
        dropped ??= dropPartitions(url, 'timeline_entry', [{ name, state: 'attached' }]);
      },
    });
    expect(tables.map((table) => table.name)).toContain(name);
    if ((await dropped) === 0)
      expect(await dropPartitions(url, 'timeline_entry', [{ name, state: 'pending' }])).toBe(1);
    expect((await fixture.takeBackup()).tables.map((table) => table.name)).not.toContain(name);
  });

  it('a backup can be stored in a bucket', async () => {
    const { place, close } = openBackupLocation(
      `s3://${fixture.source.environment['S3_BUCKET']}/saved/here`,
      fixture.source.environment,
    );
    const manifest = await fixture.takeBackup({ place });
    const repository = await Repository.open(place, { recipients: [], identities: [fixture.identity] });
    await verifyBackup(repository, manifest, ignoreProgress);
    expect((await listBackups(place)).map(({ id }) => id)).toEqual([manifest.id]);
    await close();
  });
});

describe('pruning', () => {
  it('the rules for pruning retain the newest backup of each of the newest periods', () => {
    const parseTime = (text: string) => new Date(text);
    const all = [
      ...['2026-03-02T08:00Z', '2026-03-02T20:00Z', '2026-03-09T08:00Z', '2026-03-10T08:00Z', '2026-03-11T08:00Z'],
    ].map(parseTime);
    const retained = [...selectRetainedTimes(all, parseKeepRule('daily=2,weekly=2'))].map((each) =>
      each.toISOString().slice(0, 16),
    );
    expect(retained.sort()).toEqual(['2026-03-02T20:00', '2026-03-10T08:00', '2026-03-11T08:00']);
    expect(() => parseKeepRule('dayly=1')).toThrow(/"dayly=1" is not a valid --keep rule/);
  });

  it('pruning keeps the backups of the retention rule, and removes all others and the objects that only those refer to', async () => {
    const place = new FolderPlace(join(fixture.root, 'pruned'));
    const key = await fixture.insertObjectRow('artifacts/only-once');
    await fixture.source.storage.put(key, Buffer.from('once'), 'text/plain');
    await fixture.takeBackup({ place, now: new Date('2026-03-02T08:00Z') });
    await fixture.client.query('DELETE FROM artifact WHERE storage_key = $1', [key]);
    const later = await fixture.takeBackup({ place, now: new Date('2026-03-03T08:00Z') });
    const outcome = await pruneBackups(place, { keep: { last: 1 }, now: new Date('2026-03-03T09:00Z') });
    expect(outcome).toEqual({ removed: ['2026-03-02T08-00-00Z'], retained: [later.id], objects: 1 });
    await verifyBackup(
      await Repository.open(place, { recipients: [], identities: [fixture.identity] }),
      later,
      ignoreProgress,
    );
  });
});

async function readSchema({ url }: ClonedDatabase): Promise<unknown[]> {
  const reader = await connectTo(url);
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
