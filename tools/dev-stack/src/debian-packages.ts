import { mkdir, mkdtemp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createDiskFullError, isDiskFullOutput, runProgram } from './process';

/** Runs apt and dpkg without privileges and without changing the machine. */
export class DebianPackages {
  private options = ['-q', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20'];
  private readonly env: NodeJS.ProcessEnv;

  constructor(
    private readonly work: string,
    env: NodeJS.ProcessEnv,
    private readonly onProgress: (line: string) => void,
    /** Name of what is downloaded, printed at the beginning of each line. */
    private readonly subject: string,
  ) {
    this.env = { ...env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' };
    // As root, apt would download as its own user, who cannot access this folder.
    this.options.push('-o', 'APT::Sandbox::User=root');
  }

  async hasPackageTools(): Promise<boolean> {
    const found = await Promise.all(
      ['apt-get', 'dpkg-deb'].map((tool) => runProgram({ command: [tool, '--version'], env: this.env })),
    );
    return found.every(({ ok }) => ok);
  }

  /** Downloads new package lists into the work folder, for when the machine's lists are missing or outdated. */
  async downloadPackageLists(): Promise<void> {
    const [lists, cache] = [join(this.work, 'lists'), join(this.work, 'apt')];
    await mkdir(join(lists, 'partial'), { recursive: true });
    await mkdir(join(cache, 'archives/partial'), { recursive: true });
    this.options.push('-o', `Dir::State::lists=${lists}`, '-o', `Dir::Cache=${cache}`);
    this.onProgress(`${this.subject}: downloading the package lists (apt-get update, into a temporary folder)`);
    // The exit code is ignored: one unreachable source makes apt-get fail although the other lists are updated.
    await runProgram({ command: ['apt-get', ...this.options, 'update'], env: this.env });
  }

  /**
   * Returns the names of the dependencies that this machine lacks, and after them that of the package. Recommended
   * packages are left out.
   */
  async findMissingPackages(name: string): Promise<{ packages: string[]; fault?: string }> {
    // apt prints nothing for a package whose archive is in its cache, whether or not the package is installed.
    const noArchives = join(this.work, 'no-archives');
    await mkdir(join(noArchives, 'partial'), { recursive: true });
    const options = ['-o', 'Debug::NoLocking=1', '-o', `Dir::Cache::archives=${noArchives}`];
    const args = ['install', '--print-uris', '--no-install-recommends', ...options, name];
    const { output } = await runProgram({ command: ['apt-get', ...this.options, ...args], env: this.env });
    const needed = [...output.matchAll(/^'[^']+' ([^_\s]+)_/gm)]
      .map(([, each]) => each!)
      .filter((each) => each !== name);
    if (output.includes(` ${name}_`)) return { packages: [...needed, name] };
    return { packages: [], fault: /^E: (.*)/m.exec(output)?.[1] ?? `apt-get has no ${name} for this machine` };
  }

  async downloadPackages(packages: string[]): Promise<{ archives: string[]; fault?: string }> {
    const names = packages.length > 4 ? [...packages.slice(-1), `and ${packages.length - 1} dependencies`] : packages;
    this.onProgress(`${this.subject}: downloading ${names.join(' ')} (apt-get download)`);
    const folder = await mkdtemp(join(this.work, 'archives-'));
    const command = ['apt-get', ...this.options, 'download', ...packages];
    const { ok, output } = await runProgram({ command, env: this.env, cwd: folder });
    if (isDiskFullOutput(output)) throw createDiskFullError(this.work);
    const archives = (await readdir(folder)).filter((name) => name.endsWith('.deb')).map((name) => join(folder, name));
    if (ok) return { archives };
    return { archives, fault: /^E: (.*)/m.exec(output)?.[1] ?? 'apt-get download failed' };
  }

  async extractPackages(archives: string[], root: string): Promise<void> {
    for (const archive of archives) {
      const { output } = await runProgram({ command: ['dpkg-deb', '-x', archive, root], env: this.env });
      if (isDiskFullOutput(output)) throw createDiskFullError(this.work);
    }
  }

  /** Returns the libraries that these packages depend on and that are not installed. */
  async findMissingLibraries(archives: string[]): Promise<string[]> {
    const depends = await Promise.all(
      archives.map((archive) => runProgram({ command: ['dpkg-deb', '-f', archive, 'Depends'], env: this.env })),
    );
    const names = depends
      .flatMap(({ output }) => output.split(','))
      .map((each) => /^\s*((?:lib|lua)[a-z0-9+.-]+)/.exec(each)?.[1])
      .filter((name) => name !== undefined);
    const query = ['dpkg-query', '-W', '-f', '${db:Status-Status} ${Package}\\n', ...names];
    const { output } = await runProgram({ command: query, env: this.env });
    return [...new Set(names)].filter((name) => !output.split('\n').includes(`installed ${name}`));
  }
}
