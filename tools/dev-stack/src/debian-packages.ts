import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { diskFull, isDiskFull, run } from './process';

/** apt and dpkg, used without privileges and without changing anything of the machine's. */
export class DebianPackages {
  private options = ['-q', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20'];
  private readonly env: NodeJS.ProcessEnv;

  constructor(
    private readonly work: string,
    env: NodeJS.ProcessEnv,
    private readonly onProgress: (line: string) => void,
    /** What they are fetched for, at the beginning of each line. */
    private readonly what: string,
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
    this.onProgress(`${this.what}: downloading the list of packages (apt-get update, into a separate folder)`);
    // One unreachable source makes it fail although the others are there: the download tells.
    await run({ command: ['apt-get', ...this.options, 'update'], env: this.env });
  }

  /** A package and those that it needs and this machine lacks, itself the last; nothing that is only recommended. */
  async lackingFor(name: string): Promise<{ packages: string[]; fault?: string }> {
    // apt prints nothing for a package whose archive is in its cache already, installed or not.
    const noArchives = join(this.work, 'no-archives');
    await mkdir(join(noArchives, 'partial'), { recursive: true });
    const options = ['-o', 'Debug::NoLocking=1', '-o', `Dir::Cache::archives=${noArchives}`];
    const asked = ['install', '--print-uris', '--no-install-recommends', ...options, name];
    const { output } = await run({ command: ['apt-get', ...this.options, ...asked], env: this.env });
    const needed = [...output.matchAll(/^'[^']+' ([^_\s]+)_/gm)]
      .map(([, each]) => each!)
      .filter((each) => each !== name);
    if (output.includes(` ${name}_`)) return { packages: [...needed, name] };
    return { packages: [], fault: /^E: (.*)/m.exec(output)?.[1] ?? `apt-get has no ${name} for this machine` };
  }

  async download(packages: string[]): Promise<{ archives: string[]; fault?: string }> {
    const named = packages.length > 4 ? [...packages.slice(-1), `and ${packages.length - 1} dependencies`] : packages;
    this.onProgress(`${this.what}: downloading ${named.join(' ')} (apt-get download)`);
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
