import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findFreePort, HttpClient, waitFor } from '@muster/testing';
import { root } from './service-process';

/** The user who runs `npm start`. `wrap` is a command prefix that switches to the user with the id `uid`. */
export interface Starter {
  name: string;
  wrap: string[];
  uid: number;
}

const program = `import(${JSON.stringify(join(root, 'tools/start/phases.mjs'))}).then(({ Phases }) =>
  require(${JSON.stringify(join(root, 'dist/tools/start/start-command.js'))}).runStartCommand({
    args: process.argv.slice(1), env: process.env, root: ${JSON.stringify(root)}, say: console.log,
    phases: new Phases(console.log),
  })).catch((error) => { console.error(error); process.exit(1); })`;

/** The start command that `npm start` runs after the build, as a chosen user and in a new data folder. */
export class StartedAs {
  output = '';
  readonly http: HttpClient;
  private readonly exit: Promise<number | null>;

  private constructor(
    private readonly folder: string,
    readonly dataDir: string,
    private readonly child: ChildProcess,
    port: number,
  ) {
    this.http = new HttpClient(`http://127.0.0.1:${port}`);
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.exit = new Promise((resolve) => child.once('exit', resolve));
  }

  static async startService({ wrap, uid }: Starter, args: string[], env: NodeJS.ProcessEnv = {}): Promise<StartedAs> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-as-'));
    const [dataDir, home] = [join(folder, 'data'), join(folder, 'home')];
    await chmod(folder, 0o755);
    for (const each of [dataDir, home]) {
      await mkdir(each, { mode: 0o700 });
      await chown(each, uid, uid === process.getuid!() ? process.getgid!() : uid);
    }
    const port = await findFreePort();
    const command = [
      ...wrap,
      process.execPath,
      '-e',
      program,
      '--',
      '--port',
      String(port),
      '--data-dir',
      dataDir,
      ...args,
    ];
    const child = spawn(command[0]!, command.slice(1), {
      cwd: '/',
      env: { PATH: process.env['PATH'], HOME: home, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const start = new StartedAs(folder, dataDir, child, port);
    const ended = start.exit.then((code) => Promise.reject(new Error(`ended with ${code}: ${start.output}`)));
    await Promise.race([waitFor('a ready start', () => start.output.includes('ready in'), 90_000), ended]);
    await waitFor(
      'the last line of its output',
      () => !start.output.includes('Shown only once') || start.output.includes('worker key'),
    );
    return start;
  }

  signIn(role: 'admin' | 'super admin'): Promise<HttpClient> {
    const [, email, password] = new RegExp(`^ +${role} +(\\S+@\\S+) +(\\S+)`, 'm').exec(this.output)!;
    return this.http.signIn(email!, password!);
  }

  /** Process ids of the service, Postgres and Redis, without the workers. */
  listPids(): number[] {
    return this.listProcesses().map(({ pid }) => pid);
  }

  readServiceEnvironment(): Record<string, string> {
    const service = this.listProcesses().find(({ command }) => command.includes('standalone'))!;
    const entries = readFileSync(`/proc/${service.pid}/environ`, 'utf8').split('\0').filter(Boolean);
    return Object.fromEntries(
      entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
    );
  }

  async end(): Promise<void> {
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), 30_000);
    await this.exit;
    clearTimeout(late);
    await rm(this.folder, { recursive: true, force: true });
  }

  private listProcesses(): { pid: number; command: string }[] {
    const parents = new Map<number, { parent: number; command: string }>();
    for (const name of readdirSync('/proc').filter((each) => /^\d+$/.test(each))) {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        parents.set(Number(name), { parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8') });
      } catch {
        // The process has ended since the list of processes was read.
      }
    }
    const isOwnProcess = (pid: number): boolean => {
      for (let at: number | undefined = pid; at; at = parents.get(at)?.parent) if (at === this.child.pid) return true;
      return false;
    };
    // The script may see the process of its own worker, so workers are not counted.
    return [...parents]
      .filter(([pid, { command }]) => isOwnProcess(pid) && !/AGENT|confine\.py|apps\/worker/.test(command))
      .map(([pid, { command }]) => ({ pid, command }));
  }
}
