import { mkdir, mkdtemp, readFile, rename, rmdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

export interface CacheSetting {
  cacheDir?: string;
  env: NodeJS.ProcessEnv;
}

/** Where fetched programs may be: the user's cache, and a folder of this one's data. */
export function cacheFolders(dataDir: string, { cacheDir, env }: CacheSetting): string[] {
  const home = env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache');
  return [cacheDir ?? join(home, 'muster'), join(dataDir, 'cache')];
}

export async function firstWritable(folders: string[]): Promise<string> {
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

/** A program's folder in the cache. A home may be shared by machines that cannot use each other's programs. */
export async function cacheName(program: string): Promise<string> {
  const release = await readFile('/etc/os-release', 'utf8').catch(() => '');
  const value = (name: string) => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? '';
  return `${program}-${value('ID')}${value('VERSION_ID')}-${process.arch}`;
}

/** Somebody else may have fetched it at the same time: the first one in place stays, unless it is of no use. */
export async function keepAt(target: string, fetched: string): Promise<void> {
  await rename(target, `${fetched}.old`).catch(() => undefined);
  await rename(fetched, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
}
