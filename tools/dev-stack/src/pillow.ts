import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listCacheFolders, buildCacheName, findFirstWritable, moveIntoCache } from './cache-folders';
import { DebianPackages } from './debian-packages';
import { runProgram } from './process';

export interface PillowSetting {
  /** Programs are stored in the user's cache, or below this folder if the cache is not writable. */
  dataDir: string;
  cacheDir?: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** Variables with which a worker finds Pillow. */
export interface PillowPlace {
  IMAGING_PYTHONPATH?: string;
  IMAGING_LIBRARY_PATH?: string;
}

// Checks the same features as the worker (apps/worker/src/imaging/muster_imaging/pillow.py), and freetype for text.
const checkScript = `
from PIL import Image, TiffImagePlugin, features
missing = [name for name in ("libtiff", "jpg", "zlib", "freetype2") if not features.check(name)]
raise SystemExit("Pillow has no " + ", ".join(missing) if missing else 0)`;
const packages = ['python3-pil', 'fonts-dejavu-core'];

/**
 * Finds a Pillow for imaging commands: Python's own, or Debian's package, which is downloaded and extracted into the
 * cache without root. Returns the reasons if that is not possible.
 */
export async function findPillow(setting: PillowSetting): Promise<PillowPlace | string[]> {
  const { dataDir, cacheDir, env } = setting;
  const configured: PillowPlace = {};
  if (env['IMAGING_PYTHONPATH']) configured.IMAGING_PYTHONPATH = env['IMAGING_PYTHONPATH'];
  if (env['IMAGING_LIBRARY_PATH']) configured.IMAGING_LIBRARY_PATH = env['IMAGING_LIBRARY_PATH'];
  const fault = await checkPillow(configured, env);
  if (!fault) return configured;
  const name = await buildCacheName('pillow');
  const caches = listCacheFolders(dataDir, { cacheDir, env });
  for (const cache of caches) {
    const found = await findExtracted(join(cache, name));
    if (found && !(await checkPillow(found, env))) return found;
  }
  const fetched = await fetchPillow(join(await findFirstWritable(caches), name), setting);
  return Array.isArray(fetched) ? [fault, ...fetched] : fetched;
}

async function fetchPillow(target: string, { env, onProgress }: PillowSetting): Promise<PillowPlace | string[]> {
  const work = await mkdtemp(join(target, '..', 'fetch-'));
  try {
    const tools = new DebianPackages(work, env, onProgress, 'imaging');
    if (!(await tools.hasPackageTools())) return ['apt-get is not installed'];
    const faults: string[] = [];
    for (const prepare of [async () => undefined, () => tools.downloadPackageLists()]) {
      await prepare();
      const root = join(work, 'root');
      const fault = await extractPackages(root, tools, env);
      if (fault) {
        faults.push(fault);
        continue;
      }
      await moveIntoCache(target, root);
      onProgress(`imaging: Pillow was saved in ${target}`);
      return (await findExtracted(target)) ?? ['the packages do not contain Pillow'];
    }
    return [...new Set(faults)];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Downloads the packages, then the libraries that this machine lacks, up to eight levels of dependencies. */
async function extractPackages(root: string, tools: DebianPackages, env: NodeJS.ProcessEnv): Promise<string | null> {
  const fetched = new Set<string>();
  let fault = 'its libraries could not be downloaded';
  for (let layer = 0, wanted = packages; layer < 8 && wanted.length; layer += 1) {
    const { archives, fault: notFetched } = await tools.downloadPackages(wanted);
    if (notFetched) return notFetched;
    await tools.extractPackages(archives, root);
    const found = await findExtracted(root);
    if (!found) return 'the packages do not contain Pillow';
    const left = await checkPillow(found, env);
    if (!left) return null;
    fault = left;
    if (!/shared object|Pillow has no/.test(left)) return left;
    wanted.forEach((name) => fetched.add(name));
    wanted = (await tools.findMissingLibraries(archives)).filter((name) => !fetched.has(name));
  }
  return fault;
}

async function findExtracted(root: string): Promise<PillowPlace | null> {
  const libraries = await readdir(join(root, 'usr/lib')).catch((): string[] => []);
  if (!libraries.includes('python3')) return null;
  const folders = libraries.filter((name) => name.includes('-linux-')).map((name) => join(root, 'usr/lib', name));
  return {
    IMAGING_PYTHONPATH: join(root, 'usr/lib/python3/dist-packages'),
    ...(folders.length ? { IMAGING_LIBRARY_PATH: folders.join(':') } : {}),
  };
}

/** Returns why Pillow does not work there; null if it works. */
async function checkPillow(place: PillowPlace, { PATH, PYTHON }: NodeJS.ProcessEnv): Promise<string | null> {
  const { IMAGING_PYTHONPATH: PYTHONPATH, IMAGING_LIBRARY_PATH: LD_LIBRARY_PATH } = place;
  const env = {
    PATH,
    LC_ALL: 'C.UTF-8',
    ...(PYTHONPATH && { PYTHONPATH }),
    ...(LD_LIBRARY_PATH && { LD_LIBRARY_PATH }),
  };
  const { ok, output } = await runProgram({ command: [PYTHON || 'python3', '-c', checkScript], env });
  return ok ? null : (output.trim().split('\n').at(-1) ?? 'Python does not run');
}
