import { mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { listCacheFolders, findFirstWritable } from './cache-folders';
import { DebianPackages } from './debian-packages';
import { runProgram } from './process';

export interface PromtoolSetting {
  /** Programs are stored in the user's cache, or below this folder if the cache is not writable. */
  dataDir: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/**
 * Finds promtool, which checks Prometheus rules: on PATH, in the cache, or in Debian's package, which is downloaded and
 * extracted into the cache without root. Returns the reasons if that is not possible.
 */
export async function findPromtool({ dataDir, env, onProgress }: PromtoolSetting): Promise<string | string[]> {
  const onPath = (env.PATH ?? '').split(':').filter((folder) => folder.startsWith('/'));
  const caches = listCacheFolders(dataDir, { env }).map((cache) => join(cache, `promtool-${process.arch}`));
  for (const folder of [...onPath, ...caches]) {
    const program = join(folder, 'promtool');
    if (await runsProgram(program)) return program;
  }
  const cache = await findFirstWritable(listCacheFolders(dataDir, { env }));
  const work = await mkdtemp(join(cache, 'fetch-'));
  try {
    const tools = new DebianPackages(work, env, onProgress, 'promtool');
    if (!(await tools.hasPackageTools())) return ['promtool is not on PATH, and apt-get is not installed'];
    const faults: string[] = [];
    for (const prepare of [async () => undefined, () => tools.downloadPackageLists()]) {
      await prepare();
      const { archives, fault } = await tools.downloadPackages(['prometheus']);
      if (fault) faults.push(fault);
      if (archives.length === 0) continue;
      await tools.extractPackages(archives, join(work, 'root'));
      const fetched = join(work, 'root/usr/bin');
      if (!(await runsProgram(join(fetched, 'promtool'))))
        return ['the promtool of Debian’s package does not run here'];
      const cached = join(cache, `promtool-${process.arch}`);
      // If another process has downloaded it in the meantime, that copy stays.
      await rename(fetched, cached).catch(() => undefined);
      return join(cached, 'promtool');
    }
    return [...new Set(faults)];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function runsProgram(program: string): Promise<boolean> {
  const { ok } = await runProgram({ command: [program, '--version'], env: { PATH: '/usr/bin:/bin' } }).catch(() => ({
    ok: false,
  }));
  return ok;
}
