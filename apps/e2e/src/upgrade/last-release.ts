import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, promisify } from 'node:util';
import { root } from '../service-process';

const run = promisify(execFile);

/** A build of the release that k8s/compatibility.json names, in a temporary folder. */
export interface LastRelease {
  folder: string;
  remove(): Promise<void>;
}

export async function buildLastRelease(): Promise<LastRelease> {
  const { lastRelease } = JSON.parse(await readFile(join(root, 'k8s/compatibility.json'), 'utf8')) as {
    lastRelease: string;
  };
  const folder = await mkdtemp(join(tmpdir(), 'muster-last-release-'));
  const archive = join(folder, 'release.tar');
  await run('git', ['archive', '--output', archive, lastRelease], { cwd: root });
  await run('tar', ['-xf', archive, '-C', folder]);
  if (isDeepStrictEqual(await readDependencies(folder), await readDependencies(root)))
    await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  else await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
  await run(process.execPath, ['tools/build/build.mjs'], { cwd: folder });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

async function readDependencies(folder: string): Promise<unknown> {
  return (JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { dependencies: unknown }).dependencies;
}
