import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DebianPackages } from './debian-packages';
import { findExtractedRedis, type RedisProgram } from './redis-program';

export interface RedisFetch {
  /** The folder in which the program is stored. */
  target: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** Downloads Debian's packages as an ordinary user and extracts them. Returns the reasons if that is not possible. */
export async function fetchRedis({ target, env, onProgress }: RedisFetch): Promise<RedisProgram | string[]> {
  const cache = dirname(target);
  await removeAbandonedDownloads(cache);
  const work = await mkdtemp(join(cache, 'fetch-'));
  try {
    const tools = new DebianPackages(work, env, onProgress, 'redis');
    const faults: string[] = [];
    if (!(await tools.hasPackageTools())) return ['apt-get is not installed'];
    for (const prepare of [async () => undefined, () => tools.downloadPackageLists()]) {
      await prepare();
      for (const packages of [
        ['redis-server', 'redis-tools'],
        ['valkey-server', 'valkey-tools'],
      ]) {
        const root = join(work, packages[0]!);
        const fault = await fetchPackages(tools, packages, root);
        if (!fault) return await moveRedisIntoCache(root, target, onProgress);
        faults.push(fault);
      }
    }
    return faults;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

// Downloads the packages, then the libraries that this machine lacks, up to four levels of dependencies.
async function fetchPackages(tools: DebianPackages, packages: string[], root: string): Promise<string | undefined> {
  const fetched = new Set<string>();
  let wanted = packages;
  for (let layer = 0; layer < 4 && wanted.length; layer += 1) {
    const { archives, fault } = await tools.downloadPackages(wanted);
    if (fault) return fault;
    await tools.extractPackages(archives, root);
    const found = await findExtractedRedis(root);
    if (!Array.isArray(found)) return undefined;
    if (!found.some((each) => each.includes('shared libraries')))
      return found.join('; ') || 'the packages contain no Redis program';
    wanted.forEach((name) => fetched.add(name));
    wanted = (await tools.findMissingLibraries(archives)).filter((name) => !fetched.has(name));
  }
  return 'its libraries could not be downloaded';
}

// If another process has downloaded a working copy in the meantime, that copy stays.
async function moveRedisIntoCache(
  root: string,
  target: string,
  onProgress: (line: string) => void,
): Promise<RedisProgram | string[]> {
  const existing = await findExtractedRedis(target);
  if (!Array.isArray(existing)) return existing;
  await rename(target, `${root}.broken`).catch(() => undefined);
  await rename(root, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  onProgress(`redis: saved in ${target}`);
  return findExtractedRedis(target);
}

async function removeAbandonedDownloads(cache: string): Promise<void> {
  const names = (await readdir(cache).catch(() => [])).filter((name) => name.startsWith('fetch-'));
  for (const path of names.map((name) => join(cache, name))) {
    const changed = (await stat(path).catch(() => null))?.mtimeMs ?? Date.now();
    if (Date.now() - changed > 3_600_000) await rm(path, { recursive: true, force: true });
  }
}
