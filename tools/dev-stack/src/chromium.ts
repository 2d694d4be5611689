import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { listCacheFolders, buildCacheName, findFirstWritable, moveIntoCache } from './cache-folders';
import { DebianPackages } from './debian-packages';
import { runProgram } from './process';

export interface ChromiumSetting {
  /** Programs are stored in the user's cache, or below this folder if the cache is not writable. */
  dataDir: string;
  cacheDir?: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

const names = ['chromium', 'google-chrome', 'google-chrome-stable', 'chromium-browser', 'chrome'];

/** Returns the program in CHROMIUM, or the first one on PATH that runs. */
export async function findInstalledChromium(env: NodeJS.ProcessEnv): Promise<string | null> {
  if (env.CHROMIUM) return env.CHROMIUM;
  const folders = (env.PATH ?? '').split(':').filter((folder) => folder.startsWith('/'));
  for (const program of folders.flatMap((folder) => names.map((name) => join(folder, name)))) {
    if (await runsProgram(program, env)) return program;
  }
  return null;
}

/**
 * Finds Chromium in the cache, or downloads Debian's package with the dependencies that this machine lacks, and
 * extracts them into the cache without root. Returns the reasons if that is not possible.
 */
export async function findOrFetchChromium(setting: ChromiumSetting): Promise<string | string[]> {
  const { dataDir, cacheDir, env } = setting;
  const name = await buildCacheName('chromium');
  const caches = listCacheFolders(dataDir, { cacheDir, env });
  for (const cache of caches) {
    const program = join(cache, name, 'chromium');
    if (await runsProgram(program, env)) return program;
  }
  return fetchChromium(join(await findFirstWritable(caches), name), setting);
}

async function fetchChromium(target: string, { env, onProgress }: ChromiumSetting): Promise<string | string[]> {
  const work = await mkdtemp(join(target, '..', 'fetch-'));
  try {
    const tools = new DebianPackages(work, env, onProgress, 'chromium');
    if (!(await tools.hasPackageTools())) return ['apt-get is not installed'];
    const faults: string[] = [];
    for (const prepare of [async () => undefined, () => tools.downloadPackageLists()]) {
      await prepare();
      const root = join(work, 'root');
      const fault = await extractPackages(root, tools);
      if (fault) {
        faults.push(fault);
        continue;
      }
      await writeProgram(root, target);
      await moveIntoCache(target, root);
      const program = join(target, 'chromium');
      if (!(await runsProgram(program, env))) return ['the Chromium of Debian’s package does not run here'];
      onProgress(`chromium: saved in ${target}`);
      return program;
    }
    return [...new Set(faults)];
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function extractPackages(root: string, tools: DebianPackages): Promise<string | undefined> {
  const lacking = await tools.findMissingPackages('chromium');
  if (lacking.fault) return lacking.fault;
  const { archives, fault } = await tools.downloadPackages(lacking.packages);
  if (!fault) await tools.extractPackages(archives, root);
  return fault;
}

/**
 * Writes a start script for the final location. It sets the paths of libraries, fonts and settings, which differ from
 * Debian's.
 */
async function writeProgram(root: string, target: string): Promise<void> {
  const libraries = (await listLibraryFolders(root)).map((folder) => join(target, folder));
  const fonts = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>${target}/usr/share/fonts</dir>
  <cachedir>${target}/fonts-cache</cachedir>
  <include ignore_missing="yes">${target}/etc/fonts/conf.d</include>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
</fontconfig>
`;
  const program = `#!/bin/sh
export LD_LIBRARY_PATH='${libraries.join(':')}' FONTCONFIG_FILE='${target}/fonts.conf'
exec '${target}/usr/lib/chromium/chromium' "$@"
`;
  await writeFile(join(root, 'fonts.conf'), fonts);
  await writeFile(join(root, 'chromium'), program, { mode: 0o755 });
}

/** Some packages install private libraries one folder further down. */
async function listLibraryFolders(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const above of ['usr/lib', 'lib']) {
    const folders = (await readdir(join(root, above)).catch(() => [])).filter((name) => name.includes('-linux-'));
    for (const folder of folders.map((name) => join(above, name))) {
      const files = await readdir(join(root, folder), { recursive: true });
      const owners = files.filter((file) => /^([^/]+\/)?lib[^/]+\.so/.test(file)).map(dirname);
      found.push(...[...new Set(owners)].map((owner) => join(folder, owner)));
    }
  }
  return found;
}

async function runsProgram(program: string, { PATH, HOME }: NodeJS.ProcessEnv): Promise<boolean> {
  const { ok } = await runProgram({ command: [program, '--version'], env: { PATH, HOME } }).catch(() => ({
    ok: false,
  }));
  return ok;
}
