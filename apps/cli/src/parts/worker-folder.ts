import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '@muster/sdk';
import { exitCodes, Failure } from '../frame/failure';

/** The worker program as one file. Defined by the one-file build. */
declare const EMBEDDED_WORKER: string | undefined;

export interface WorkerSettings {
  SERVICE_BASE_URL: string;
  SERVICE_API_KEY: string;
  AGENT_ID: string;
}

/** The folder of an installed worker: its program, its private settings, its log and its data. */
export class WorkerFolder {
  readonly program: string;
  readonly log: string;
  private readonly settings: string;
  private readonly own: string;

  constructor(readonly folder: string) {
    this.program = join(folder, 'muster-worker.js');
    this.settings = join(folder, 'worker.env');
    this.log = join(folder, 'worker.log');
    this.own = join(folder, 'data');
  }

  get isInstalled(): boolean {
    return existsSync(this.settings);
  }

  /** Deletes the folder, including data that the worker has not sent yet. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  writeWorkerProgram(): void {
    if (typeof EMBEDDED_WORKER !== 'string') {
      throw new Failure('no_worker', 'This build of muster contains no worker.', {
        hint: 'To build one that does, run npx nx one-file cli.',
      });
    }
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.program, EMBEDDED_WORKER, { mode: 0o755 });
  }

  /** Saves the settings, and the variables of the current environment that the worker needs after a reboot. */
  install(settings: WorkerSettings, environment: Record<string, string>): void {
    const all = { ...environment, ...settings, MUSTER_WORKER_DIR: this.own };
    const lines = Object.entries(all)
      .filter(([, value]) => !value.includes('\n'))
      .map(([name, value]) => `${name}=${value}\n`);
    // Creates a new file with private permissions. An existing file would keep its permissions.
    rmSync(this.settings, { force: true });
    writeFileSync(this.settings, lines.join(''), { mode: 0o600, flag: 'wx' });
  }

  readSettings(): WorkerSettings & Record<string, string> {
    if (!this.isInstalled) {
      throw new Failure('no_worker', `No worker is installed in ${this.folder}.`, {
        hint: 'To install one, run muster worker install.',
        exitCode: exitCodes.usage,
      });
    }
    const lines = readFileSync(this.settings, 'utf8').split('\n').filter(Boolean);
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    ) as WorkerSettings & Record<string, string>;
  }

  /**
   * Returns the process id of the running worker from its lock file, or undefined if the worker does not run. The start
   * time must match too, because another process can have the same id by now.
   */
  findRunningPid(): number | undefined {
    try {
      const { pid, startTime } = JSON.parse(readFileSync(join(this.own, 'worker.lock'), 'utf8')) as Lock;
      process.kill(pid, 0);
      return startTime === readStartTime(pid) ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  /** Starts the worker as a detached process, which keeps running after this command and its terminal have ended. */
  startWorker(environment: Record<string, string>): number {
    const log = openSync(this.log, 'a', 0o600);
    const child = spawn(process.execPath, [this.program], {
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...environment, ...this.readSettings() },
    });
    closeSync(log);
    child.unref();
    return child.pid!;
  }

  /** Capabilities of this machine, as the worker program reports them. Null if the program cannot report them. */
  readCapabilities(environment: Record<string, string>): Agent['capabilities'] {
    try {
      const answer = execFileSync(process.execPath, [this.program, 'capabilities', '--json'], {
        env: { ...environment, ...this.readSettings() },
        stdio: ['ignore', 'pipe', 'ignore'],
        encoding: 'utf8',
      });
      return JSON.parse(answer) as Agent['capabilities'];
    } catch {
      return null;
    }
  }

  readLastLogLines(lines = 5): string {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').trim().split('\n').slice(-lines).join('\n') : '';
  }
}

interface Lock {
  pid: number;
  /** Start time of the process in clock ticks since boot, from /proc. Empty if there is no /proc. */
  startTime: string;
}

function readStartTime(pid: number): string {
  if (!existsSync('/proc/self/stat')) return '';
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field of /proc/<pid>/stat is the program name in parentheses. The name can contain any character. The
  // start time is field 22, the 20th field after the name.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
}
