import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { root } from './service-process';

/** The script of `npm start` as a process. Its output is a file, so that it can outlive the process that started it. */
export class Start {
  private readonly child: ChildProcess;
  private readonly outputFile = join(mkdtempSync(join(tmpdir(), 'muster-output-')), 'output');
  readonly exit: Promise<number | null>;

  /** `commandPrefix` is a command that runs another command, for example in a network namespace. */
  constructor(args: string[], env: NodeJS.ProcessEnv = {}, commandPrefix: string[] = []) {
    const { PATH, HOME } = process.env;
    const [program, ...programArgs] = [
      ...commandPrefix,
      process.execPath,
      join(root, 'tools/start/start.mjs'),
      ...args,
    ];
    const output = openSync(this.outputFile, 'a');
    this.child = spawn(program!, programArgs, { env: { PATH, HOME, ...env }, stdio: ['ignore', output, output] });
    closeSync(output);
    this.exit = new Promise((resolve) => this.child.once('exit', resolve));
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** The output so far. */
  get output(): string {
    return readFileSync(this.outputFile, 'utf8');
  }

  async waitUntilReady(): Promise<void> {
    const ended = this.exit.then((code) => Promise.reject(new Error(`ended with ${code}: ${this.output}`)));
    await Promise.race([waitFor('a ready start', () => this.output.includes('ready in'), 90_000), ended]);
  }

  /** Lets this process end before the started one does. */
  unref(): void {
    this.child.unref();
  }

  async endStart(signal: NodeJS.Signals): Promise<number | null> {
    this.child.kill(signal);
    return this.exit;
  }
}

/** The processes of an `npm start` on this data folder, found by command line, working folder or environment. */
export function findProcesses(dataDir: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
        const files = command.includes('redis-server') ? readWorkingFolder(pid) : '';
        const belongs =
          command.includes(dataDir) ||
          files.startsWith(dataDir) ||
          environment.includes(`=${join(dataDir, 'agents')}/`) ||
          (command.includes('standalone') && environment.includes(readDatabasePort(dataDir)));
        return belongs && !command.includes('start.mjs') ? [{ pid: Number(pid), command }] : [];
      } catch {
        return [];
      }
    });
}

function readWorkingFolder(pid: string): string {
  return readlinkSync(`/proc/${pid}/cwd`);
}

function readDatabasePort(dataDir: string): string {
  return `@127.0.0.1:${readFileSync(join(dataDir, 'postgres/port'), 'utf8').trim()}/`;
}
