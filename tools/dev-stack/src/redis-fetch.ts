import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDiskFull, diskFull, run } from './process';
import { extractedRedis, type RedisProgram } from './redis-program';

export interface RedisFetch {
  /** The folder that it is to be found in afterwards. */
  target: string;
  env: NodeJS.ProcessEnv;
  onProgress: (line: string) => void;
}

/** Fetches Debian's packages as an ordinary user and extracts them; answers what went wrong where it cannot. */
export async function fetchRedis({ target, env, onProgress }: RedisFetch): Promise<RedisProgram | string[]> {
  const cache = dirname(target);
  await removeAbandoned(cache);
  const work = await mkdtemp(join(cache, 'fetch-'));
  try {
    const tools = new Tools(work, env, onProgress);
    const faults: string[] = [];
    if (!(await tools.exist())) return ['there is no apt-get'];
    for (const prepare of [async () => undefined, () => tools.useFreshLists()]) {
      await prepare();
      for (const packages of [
        ['redis-server', 'redis-tools'],
        ['valkey-server', 'valkey-tools'],
      ]) {
        const root = join(work, packages[0]!);
        const fault = await fetchPackages(tools, packages, root);
        if (!fault) return await keep(root, target, onProgress);
        faults.push(fault);
      }
    }
    return faults;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

// The packages themselves first, then the libraries that this machine turns out to lack, a few layers deep.
async function fetchPackages(tools: Tools, packages: string[], root: string): Promise<string | undefined> {
  const fetched = new Set<string>();
  let wanted = packages;
  for (let layer = 0; layer < 4 && wanted.length; layer += 1) {
    const { archives, fault } = await tools.download(wanted);
    if (fault) return fault;
    await tools.extract(archives, root);
    const found = await extractedRedis(root);
    if (!Array.isArray(found)) return undefined;
    if (!found.some((each) => each.includes('shared libraries')))
      return found.join('; ') || 'no program in the packages';
    wanted.forEach((name) => fetched.add(name));
    wanted = (await tools.missingLibraries(archives)).filter((name) => !fetched.has(name));
  }
  return 'its libraries could not be fetched';
}

// Two processes may have fetched at the same time: the first one in place stays.
async function keep(
  root: string,
  target: string,
  onProgress: (line: string) => void,
): Promise<RedisProgram | string[]> {
  const theirs = await extractedRedis(target);
  if (!Array.isArray(theirs)) return theirs;
  await rename(target, `${root}.broken`).catch(() => undefined);
  await rename(root, target).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  });
  onProgress(`redis: kept in ${target} for the next time`);
  return extractedRedis(target);
}

async function removeAbandoned(cache: string): Promise<void> {
  const names = (await readdir(cache).catch(() => [])).filter((name) => name.startsWith('fetch-'));
  for (const path of names.map((name) => join(cache, name))) {
    const changed = (await stat(path).catch(() => null))?.mtimeMs ?? Date.now();
    if (Date.now() - changed > 3_600_000) await rm(path, { recursive: true, force: true });
  }
}

/** apt and dpkg, used without privileges and without changing anything of the machine's. */
class Tools {
  private options = ['-q', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20'];
  private readonly env: NodeJS.ProcessEnv;

  constructor(
    private readonly work: string,
    env: NodeJS.ProcessEnv,
    private readonly onProgress: (line: string) => void,
  ) {
    this.env = { ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
    // apt as root would hand the download to its own user, who cannot get into our folder.
    this.options.push('-o', 'APT::Sandbox::User=root');
  }

  async exist(): Promise<boolean> {
    const found = await Promise.all(
      ['apt-get', 'dpkg-deb'].map((tool) => run({ command: [tool, '--version'], env: this.env })),
    );
    return found.every(({ ok }) => ok);
  }

  /** Where the machine's package lists are missing or outdated: lists of our own, for this once. */
  async useFreshLists(): Promise<void> {
    const [lists, cache] = [join(this.work, 'lists'), join(this.work, 'apt')];
    await mkdir(join(lists, 'partial'), { recursive: true });
    await mkdir(join(cache, 'archives/partial'), { recursive: true });
    this.options.push('-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`);
    this.onProgress('redis: fetching the list of packages (apt-get update, into a folder of our own)');
    // One unreachable source makes it fail although the others are there: the download tells.
    await run({ command: ['apt-get', ...this.options, 'update'], env: this.env });
  }

  async download(packages: string[]): Promise<{ archives: string[]; fault?: string }> {
    this.onProgress(`redis: fetching ${packages.join(' ')} (apt-get download)`);
    const folder = await mkdtemp(join(this.work, 'archives-'));
    const command = ['apt-get', ...this.options, 'download', ...packages];
    const { ok, output } = await run({ command, env: this.env, cwd: folder });
    if (isDiskFull(output)) throw diskFull(this.work);
    const archives = (await readdir(folder)).filter((name) => name.endsWith('.deb')).map((name) => join(folder, name));
    if (ok) return { archives };
    return { archives, fault: /^E: (.*)/m.exec(output)?.[1] ?? 'apt-get download failed' };
  }

  async extract(archives: string[], root: string): Promise<void> {
    for (const archive of archives) {
      const { output } = await run({ command: ['dpkg-deb', '-x', archive, root], env: this.env });
      if (isDiskFull(output)) throw diskFull(this.work);
    }
  }

  /** The libraries that these packages ask for and that are not installed. */
  async missingLibraries(archives: string[]): Promise<string[]> {
    const asked = await Promise.all(
      archives.map((archive) => run({ command: ['dpkg-deb', '-f', archive, 'Depends'], env: this.env })),
    );
    const names = asked
      .flatMap(({ output }) => output.split(','))
      .map((each) => /^\s*((?:lib|lua)[a-z0-9+.-]+)/.exec(each)?.[1])
      .filter((name) => name !== undefined);
    const query = ['dpkg-query', '-W', '-f', '${db:Status-Status} ${Package}\\n', ...names];
    const { output } = await run({ command: query, env: this.env });
    return [...new Set(names)].filter((name) => !output.split('\n').includes(`installed ${name}`));
  }
}
