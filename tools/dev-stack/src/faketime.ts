import { copyFile, chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DebianPackages } from './debian-packages';

export interface FaketimeSetting {
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

const library = 'libfaketime.so.1';

/**
 * Fetches libfaketime from Debian's package without root, and copies it to a new folder that every user can read,
 * because Postgres runs as another user. Returns the path of the library, or the reasons why it could not be fetched.
 */
export async function fetchFaketime({ env, onProgress }: FaketimeSetting): Promise<string | string[]> {
  const work = await mkdtemp(join(tmpdir(), 'muster-faketime-fetch-'));
  try {
    const packages = new DebianPackages(work, env, onProgress, 'libfaketime');
    if (!(await packages.hasPackageTools())) return ['apt-get is not installed'];
    const faults: string[] = [];
    for (const prepare of [async () => undefined, () => packages.downloadPackageLists()]) {
      await prepare();
      const { archives, fault } = await packages.downloadPackages(['libfaketime']);
      if (fault) {
        faults.push(fault);
        continue;
      }
      await packages.extractPackages(archives, work);
      const file = (await readdir(work, { recursive: true })).find((path) => path.endsWith(`/${library}`));
      if (!file) return [`Debian's package libfaketime has no ${library}`];
      const folder = await mkdtemp(join(tmpdir(), 'muster-faketime-'));
      await chmod(folder, 0o755);
      await copyFile(join(work, file), join(folder, library));
      return join(folder, library);
    }
    return [...new Set(faults)];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
