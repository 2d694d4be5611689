import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Backoff } from './backoff';
// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { countInstalled, listPackageFolders, formatInstallLine } from './install-progress.mjs';
// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { Phases } from './phases.mjs';
import { StartError } from './options';
import { throwIfRestoreUnfinished } from './throw-if-restore-unfinished';
import { runStartCommand } from './start-command';
import { chooseMasterKeys } from './stored-secrets';

describe('a start', () => {
  it('npm start prints a long phase and its time, and stores the times of all phases', async () => {
    const lines: string[] = [];
    const phases = new Phases((line: string) => lines.push(line), 20);
    const countLinesAfterPause = () => new Promise((resolve) => setTimeout(() => resolve(lines.length), 60));
    expect(await phases.runPhase('quick', async () => 'done')).toBe('done');
    expect(await phases.runPhase('slow', countLinesAfterPause)).toBe(1);
    const failing = phases.runPhase('failing', () =>
      countLinesAfterPause().then(() => Promise.reject(new Error('full'))),
    );
    await expect(failing).rejects.toThrow('full');
    expect(lines).toEqual(['slow …', 'slow: 0.1 s', 'failing …', 'failing: 0.1 s']);
    expect(phases.times.map(([name]: [string]) => name)).toEqual(['quick', 'slow', 'failing']);
  });

  it('npm start counts the packages that npm installs on this machine', async () => {
    const packages = {
      '': {},
      'node_modules/a': {},
      'node_modules/a/node_modules/brought': { inBundle: true },
      'node_modules/ours': { link: true },
      'node_modules/mac': { optional: true, os: ['darwin'] },
      'node_modules/mac/node_modules/its-own': { optional: true },
      'node_modules/not-windows': { optional: true, os: ['!win32'], cpu: ['x64'], libc: ['glibc'] },
      'node_modules/alpine': { optional: true, libc: ['musl'] },
    };
    const folders = listPackageFolders({ packages }, { os: 'linux', cpu: 'x64', libc: 'glibc' });
    expect(folders).toEqual(['node_modules/a', 'node_modules/not-windows']);

    const root = await mkdtemp(join(tmpdir(), 'muster-install-'));
    await mkdir(join(root, 'node_modules/a'), { recursive: true });
    expect(await countInstalled(root, folders)).toBe(0);
    await writeFile(join(root, 'node_modules/a/package.json'), '{}');
    expect(await countInstalled(root, folders)).toBe(1);
    await rm(root, { recursive: true });

    expect(formatInstallLine(300, 400, 1000)).toBe('npm removes the old packages, 300 are left');
    expect(formatInstallLine(0, 0, 1000)).toBe('npm looks up the packages and fetches the first ones');
    expect(formatInstallLine(400, 400, 1000)).toBe('400 of about 1000 packages');
    expect(formatInstallLine(999, 999, 1000)).toBe('999 packages are installed, npm runs the install scripts of some');
  });

  it('the delay before a restart of a process doubles with each death within a minute', () => {
    const backoff = new Backoff();
    expect([0, 1, 2, 3, 4, 5].map((second) => backoff.computeNextDelay(second * 1000))).toEqual([
      500, 1000, 2000, 4000, 8000, 10_000,
    ]);
    expect(backoff.computeNextDelay(66_000)).toBe(500);
    backoff.computeNextDelay(67_000);
    backoff.resetBackoff();
    expect(backoff.computeNextDelay(68_000)).toBe(500);
  });

  it('npm start refuses a data folder while a restore into it has not finished, and creates nothing', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'muster-half-restore-'));
    const dataDir = join(parent, 'data');
    const unfinished = join(parent, 'data.restoring-0a1b2c3d');
    await mkdir(unfinished);
    const start = runStartCommand({
      args: ['--data-dir', dataDir],
      env: {},
      root: parent,
      phases: new Phases(() => undefined, 1000),
      say: () => undefined,
    });
    await expect(start).rejects.toThrow(
      new StartError(
        `A restore into ${dataDir} has not finished: run the same muster-admin restore command again. To start with an empty installation instead, remove ${unfinished}.`,
      ),
    );
    expect(await readdir(parent)).toEqual(['data.restoring-0a1b2c3d']);
    // The folder of another installation's restore, and one that is in use already.
    await expect(throwIfRestoreUnfinished(join(parent, 'dat'))).resolves.toBeUndefined();
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'secrets.json'), '{}');
    await expect(throwIfRestoreUnfinished(dataDir)).resolves.toBeUndefined();
    await rm(parent, { recursive: true });
  });

  it('npm start uses the master keys of its environment, else the stored ones, and refuses to start without any', () => {
    const secrets = { cronSecret: '', s3AccessKeyId: '', s3SecretAccessKey: '' };
    expect(chooseMasterKeys({ ...secrets, masterKeys: 'stored' }, {})).toBe('stored');
    expect(chooseMasterKeys({ ...secrets, masterKeys: 'stored' }, { MASTER_KEYS: 'entered' })).toBe('entered');
    expect(chooseMasterKeys(secrets, { MASTER_KEYS: 'entered' })).toBe('entered');
    expect(() => chooseMasterKeys(secrets, { MASTER_KEYS: '' })).toThrow(
      'The data folder was restored from a backup without the master keys: set MASTER_KEYS',
    );
  });
});
