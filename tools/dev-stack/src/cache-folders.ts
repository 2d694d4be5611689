import { mkdir, mkdtemp, readFile, rename, rmdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface CacheSetting {
  cacheDir?: string;
  env: NodeJS.ProcessEnv;
}

/** Folders that may contain downloaded programs: the user's cache, and a folder in this stack's data. */
export function listCacheFolders(dataDir: string, { cacheDir, env }: CacheSetting): string[] {
  const home = env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache');
  return [cacheDir ?? join(home, 'muster'), join(dataDir, 'cache')];
}

export async function findFirstWritable(folders: string[]): Promise<string> {
  for (const folder of folders.slice(0, -1)) {
    try {
      await mkdir(folder, { recursive: true });
      await rmdir(await mkdtemp(join(folder, 'try-')));
      return folder;
    } catch {
      continue;
    }
  }
  const last = folders.at(-1)!;
  await mkdir(last, { recursive: true });
  return last;
}

/**
 * Name of a program's folder in the cache. It contains the system's version, because machines that share a home
 * directory may not be able to use each other's programs.
 */
export async function buildCacheName(program: string): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const getRelease = (name: string) => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? '';
  return `${program}-${getRelease('ID')}${getRelease('VERSION_ID')}-${process.arch}`;
}

/**
 * Moves a downloaded program into the cache. If another process has moved the same program there in the meantime, that
 * one stays.
 */
export async function moveIntoCache(target: string, fetched: string): Promise<void> {
  await rename(target, `${fetched}.old`).catch(() => undefined);
  await rename(fetched, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
