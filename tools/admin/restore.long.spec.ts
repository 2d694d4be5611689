// This test is long because it restores many backups.
// A short test of the same code: tools/start/upgrade-data.spec.ts
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateX25519Identity } from 'age-encryption';
import { migrations } from '@muster/database';
import { chooseSize, openPool } from '@muster/testing';
import { runAdminCommand, BackupFixture, failAtStep, countRowsByTable } from './backup.harness';
import { chooseBackup, type Manifest, paths, readManifest, writeManifest } from './backup/manifest';
import { FolderPlace } from './place/folder-place';

let fixture: BackupFixture;

beforeAll(async () => {
  fixture = await BackupFixture.open();
  await fixture.takeBackup();
});
afterAll(() => fixture.close());

describe('a restore', () => {
  it('a restore that is interrupted at any step leaves its target untouched until it is resumed', async () => {
    const target = await fixture.createEmptyTarget();
    const steps: string[] = [];
    await fixture.restoreInto(await fixture.createEmptyTarget(), { onProgress: (line) => steps.push(line) });
    // A restore that is started again repeats the steps before the load of the tables, and skips loaded tables.
    const first = steps.indexOf('database: creating the tables') + 2;
    const cuts = chooseSize('RESTORE_CUTS', { short: 4, long: 10 });
    for (let part = 1; part < cuts; part += 1) {
      const attempt = fixture.restoreInto(target, {
        onProgress: failAtStep(first + Math.floor((steps.length - first) / cuts)),
      });
      await expect(attempt).rejects.toThrow('interrupted here');
      expect(await countRowsByTable(target.database)).toEqual({});
    }
    const { tables } = await fixture.restoreInto(target);
    expect(await countRowsByTable(target.database)).toMatchObject(
      Object.fromEntries(tables.map(({ name, rows }) => [name, name === 'recovery_hold' ? 1 : rows])),
    );
  });

  const wrong: Record<
    string,
    { change?: (id: string) => Promise<() => Promise<void>>; keys?: () => Promise<string>; message: RegExp }
  > = {
    'one byte of a table was changed': {
      change: (id) => fixture.changeByte(paths.table(id, 'job')),
      message: /^The file backups\/.*\/tables\/job\.copy\.gz\.age in .* is damaged: it was changed after/,
    },
    'one byte of the manifest was changed': {
      change: (id) => fixture.changeByte(paths.manifest(id), 'id": "', 'id": "X'),
      message: /is damaged: its backup\.json was changed/,
    },
    'one byte of an object was changed': {
      change: async () => fixture.changeByte(await fixture.storeObject()),
      message: /^The file objects\/.* in .* is damaged: it cannot be decrypted/,
    },
    'one object is missing': {
      change: async () => {
        const path = join(fixture.folder, await fixture.storeObject());
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
        const path = join(fixture.folder, paths.manifest(id));
        const bytes = await readFile(path);
        const place = new FolderPlace(fixture.folder);
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
      const { id } = await chooseBackup(new FolderPlace(fixture.folder));
      const undo = await change?.(id);
      const target = await fixture.createEmptyTarget();
      const restored = fixture.restoreInto(target, { identity: await keys?.() });
      await expect(restored.finally(() => undo?.())).rejects.toThrow(message);
      expect(await countRowsByTable(target.database)).toEqual({});
    });

  it('a restore is refused if the database has tables', async () => {
    await expect(fixture.restoreInto(fixture.source)).rejects.toThrow(/is not empty \(\d+ tables\)/);
  });

  it('a restored service has a recovery hold that one release ends; a second release changes nothing', async () => {
    const target = await fixture.createEmptyTarget();
    const { id, takenAt } = await fixture.restoreInto(target);
    const pool = openPool(target.database, 1);
    const readRecoveryHolds = async () =>
      (await pool.query('SELECT backup, saved_at, released_at FROM recovery_hold')).rows;
    expect(await readRecoveryHolds()).toEqual([{ backup: id, saved_at: new Date(takenAt), released_at: null }]);
    await pool.query("UPDATE schedule SET enabled = true, next_run_at = now() - interval '1 hour'");
    const { rows: schedules } = await pool.query<{ name: string }>('SELECT name FROM schedule');
    const released = await runAdminCommand(['release'], target.environment);
    expect(released).toMatchObject({
      code: 0,
      output: expect.stringContaining(`Released the service that was restored from the backup ${id}; `),
    });
    for (const { name } of schedules) expect(released.output).toContain(`, ${name}, due since `);
    expect((await readRecoveryHolds())[0].released_at).not.toBeNull();
    const [{ released_at: releasedAt }] = await readRecoveryHolds();
    expect(await runAdminCommand(['release'], target.environment)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/already released at .*; nothing was changed/),
    });
    expect((await readRecoveryHolds())[0].released_at).toEqual(releasedAt);
    expect(await runAdminCommand(['release'], fixture.source.environment)).toMatchObject({
      code: 1,
      output: expect.stringMatching(/nothing to release/),
    });
    await pool.end();
  });

  it('a restore creates a data folder that can be backed up again', async () => {
    const dataDir = join(fixture.root, 'data');
    const identityFile = join(fixture.root, 'identity');
    await writeFile(identityFile, `# made for a test\n${fixture.identity}\n`);
    const from = ['--from', fixture.folder, '--identity', identityFile, '--data-dir', dataDir];
    const { MASTER_KEYS } = fixture.source.environment;
    expect(await runAdminCommand(['restore', ...from], fixture.source.environment)).toMatchObject({
      code: 0,
      output: expect.stringContaining('The backup has no master keys: set MASTER_KEYS (test) to start the service.'),
    });
    const secrets = await readFile(join(dataDir, 'secrets.json'), 'utf8');
    expect(JSON.parse(secrets)).not.toHaveProperty('masterKeys');
    expect(secrets).not.toContain(MASTER_KEYS!.split(':')[1]);
    const again = await runAdminCommand(
      ['backup', '--to', join(fixture.root, 'second'), '--data-dir', dataDir, '--recipient', fixture.recipient],
      {},
    );
    expect(again.output).toMatch(
      /^Backup .* rows of \d+ tables, 5 objects \(5 new; 8 that rows refer to are not in the bucket\)\.$/m,
    );
    expect(again.code).toBe(0);
    const [first, second] = await Promise.all(
      [fixture.folder, join(fixture.root, 'second')].map((each) => chooseBackup(new FolderPlace(each))),
    );
    const listChecksums = (tables: Manifest['tables']) =>
      tables.filter(({ name }) => name !== 'recovery_hold').map(({ name, rows, hash }) => ({ name, rows, hash }));
    expect(listChecksums(second!.tables)).toEqual(listChecksums(first!.tables));
    expect((await readdir(fixture.root)).filter((name) => name.startsWith('data.'))).toEqual([]);
  });
});
