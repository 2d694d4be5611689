import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Backoff } from './backoff';
// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { countInstalled, foldersOf, installLine } from './install-progress.mjs';
// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { Phases } from './phases.mjs';

describe('a start', () => {
  it('a start prints a long phase and its time, and stores the times of all phases', async () => {
    const lines: string[] = [];
    const phases = new Phases((line: string) => lines.push(line), 20);
    const lasting = () => new Promise((resolve) => setTimeout(() => resolve(lines.length), 60));
    expect(await phases.run('quick', async () => 'done')).toBe('done');
    expect(await phases.run('slow', lasting)).toBe(1);
    const failing = phases.run('failing', () => lasting().then(() => Promise.reject(new Error('full'))));
    await expect(failing).rejects.toThrow('full');
    expect(lines).toEqual(['slow …', 'slow: 0.1 s', 'failing …', 'failing: 0.1 s']);
    expect(phases.times.map(([name]: [string]) => name)).toEqual(['quick', 'slow', 'failing']);
  });

  it('a start counts the packages that npm installs on this machine', async () => {
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
    const folders = foldersOf({ packages }, { os: 'linux', cpu: 'x64', libc: 'glibc' });
    expect(folders).toEqual(['node_modules/a', 'node_modules/not-windows']);

    const root = await mkdtemp(join(tmpdir(), 'muster-install-'));
    await mkdir(join(root, 'node_modules/a'), { recursive: true });
    expect(await countInstalled(root, folders)).toBe(0);
    await writeFile(join(root, 'node_modules/a/package.json'), '{}');
    expect(await countInstalled(root, folders)).toBe(1);
    await rm(root, { recursive: true });

    expect(installLine(300, 400, 1000)).toBe('npm removes the old packages, 300 are left');
    expect(installLine(0, 0, 1000)).toBe('npm looks up the packages and fetches the first ones');
    expect(installLine(400, 400, 1000)).toBe('400 of about 1000 packages');
    expect(installLine(999, 999, 1000)).toBe('999 packages are installed, npm runs the install scripts of some');
  });

  it('the restart delay doubles with each death within a minute', () => {
    const backoff = new Backoff();
    expect([0, 1, 2, 3, 4, 5].map((second) => backoff.next(second * 1000))).toEqual([
      500, 1000, 2000, 4000, 8000, 10_000,
    ]);
    expect(backoff.next(66_000)).toBe(500);
    backoff.next(67_000);
    backoff.forget();
    expect(backoff.next(68_000)).toBe(500);
  });
});
