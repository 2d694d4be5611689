import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Agent } from '@muster/sdk';
import { exitCodes, Failure } from '../frame/failure';

/** Set by the one-file build: the worker, itself one file. */
declare const EMBEDDED_WORKER: string | undefined;

export interface WorkerSettings {
  SERVICE_BASE_URL: string;
  SERVICE_API_KEY: string;
  AGENT_ID: string;
}

/** Where a worker is installed: its program, who it is (closed to others), what it says, and its own folder. */
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

  /** All of it goes, what it had not sent yet included. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  prepare(): void {
    if (typeof EMBEDDED_WORKER !== 'string') {
      throw new Failure('no_worker', 'This build of muster carries no worker.', { hint: 'npx nx one-file cli' });
    }
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    writeFileSync(this.program, EMBEDDED_WORKER, { mode: 0o755 });
  }

  /** With the variables that it was installed with: it has them after a reboot too. */
  install(settings: WorkerSettings, environment: Record<string, string>): void {
    const all = { ...environment, ...settings, MUSTER_WORKER_DIR: this.own };
    const lines = Object.entries(all)
      .filter(([, value]) => !value.includes('\n'))
      .map(([name, value]) => `${name}=${value}\n`);
    // Made anew, and closed from the first byte: an older file may be open to others, and would stay so.
    rmSync(this.settings, { force: true });
    writeFileSync(this.settings, lines.join(''), { mode: 0o600, flag: 'wx' });
  }

  read(): WorkerSettings & Record<string, string> {
    if (!this.isInstalled) {
      throw new Failure('no_worker', `No worker is installed in ${this.folder}.`, {
        hint: 'muster worker install',
        exitCode: exitCodes.usage,
      });
    }
    const lines = readFileSync(this.settings, 'utf8').split('\n').filter(Boolean);
    return Object.fromEntries(
      lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    ) as WorkerSettings & Record<string, string>;
  }

  /** The worker that runs here, by the lock that it keeps itself: a number alone may be another process by now. */
  runningPid(): number | undefined {
    try {
      const { pid, startTime } = JSON.parse(readFileSync(join(this.own, 'worker.lock'), 'utf8')) as Lock;
      process.kill(pid, 0);
      return startTime === startTimeOf(pid) ? pid : undefined;
    } catch {
      return undefined;
    }
  }

  /** Goes on when this command, and the terminal that it was typed in, are gone. */
  start(environment: Record<string, string>): number {
    const log = openSync(this.log, 'a', 0o600);
    const child = spawn(process.execPath, [this.program], {
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...environment, ...this.read() },
    });
    closeSync(log);
    child.unref();
    return child.pid!;
  }

  /** What its machine has of what commands need; null where the program is older than that question. */
  capabilities(environment: Record<string, string>): Agent['capabilities'] {
    try {
      const answer = execFileSync(process.execPath, [this.program, 'capabilities', '--json'], {
        env: { ...environment, ...this.read() },
        stdio: ['ignore', 'pipe', 'ignore'],
        encoding: 'utf8',
      });
      return JSON.parse(answer) as Agent['capabilities'];
    } catch {
      return null;
    }
  }

  lastWords(lines = 5): string {
    return existsSync(this.log) ? readFileSync(this.log, 'utf8').trim().split('\n').slice(-lines).join('\n') : '';
  }
}

interface Lock {
  pid: number;
  /** As Linux counts it, from the machine's own start; empty where there is no /proc. */
  startTime: string;
}

function startTimeOf(pid: number): string {
  if (!existsSync('/proc/self/stat')) return '';
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The program's name may hold anything, and ends with the last bracket; the 22nd field is the 20th behind it.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!;
}
