import { mkdir, mkdtemp, rmdir } from 'node:fs/promises';
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
