import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@muster/testing';
import { root } from '../service-process';

export interface CommandOutput {
  code: number | null;
  out: string;
  err: string;
}

/** The command line as its one file, with a separate home folder. */
export class CliFixture {
  readonly file: string;
  readonly home: string;

  private constructor(
    readonly folder: string,
    private readonly commandPrefix: string[],
  ) {
    this.file = join(folder, 'muster.js');
    this.home = join(folder, 'home');
  }

  /** `commandPrefix` is a command that runs another command, for example in a network namespace. */
  static async createFixture(folder: string, commandPrefix: string[] = []): Promise<CliFixture> {
    const fixture = new CliFixture(folder, commandPrefix);
    await mkdir(fixture.home, { recursive: true });
    execFileSync(process.execPath, [join(root, 'apps/cli/one-file.mjs'), fixture.file]);
    return fixture;
  }

  buildEnvironment(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    return { PATH: process.env['PATH'], HOME: this.home, TERM: 'xterm', SHELL: '/bin/sh', ...more };
  }

  /** Runs the command line without a terminal, as in a script. */
  async runCli(
    args: string[],
    { input = '', env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {},
  ): Promise<CommandOutput> {
    const [program, ...programArgs] = [...this.commandPrefix, process.execPath, this.file, ...args];
    return collectOutput(spawn(program!, programArgs, { cwd: this.folder, env: this.buildEnvironment(env) }), input);
  }

  /** Runs a line in bash, in which `muster` is a command. */
  async runShell(line: string): Promise<CommandOutput> {
    const script = `muster() { '${process.execPath}' '${this.file}' "$@"; }\n${line}`;
    const [program, ...programArgs] = [...this.commandPrefix, 'bash', '-c', script];
    return collectOutput(spawn(program!, programArgs, { cwd: this.folder, env: this.buildEnvironment() }), '');
  }

  /** Runs the command line in a pseudo-terminal, as for a person. */
  startTyping(args: string[]): Typist {
    const line = [...this.commandPrefix, process.execPath, this.file, ...args].map((each) => `'${each}'`).join(' ');
    // `exec` replaces the shell, so the terminal ends with the exit code of the command line.
    return new Typist(
      spawn('script', ['-qfec', `exec ${line}`, '/dev/null'], { cwd: this.folder, env: this.buildEnvironment() }),
    );
  }
}

/** A person at a pseudo-terminal. */
export class Typist {
  output = '';
  readonly exit: Promise<number | null>;

  constructor(private readonly child: ChildProcess) {
    for (const stream of [child.stdout!, child.stderr!])
      stream.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.exit = new Promise((resolve) => child.once('close', resolve));
  }

  async waitForText(text: string | RegExp, withinMs = 60_000): Promise<void> {
    const is = typeof text === 'string' ? () => this.output.includes(text) : () => text.test(this.output);
    await waitFor(`${text} on the terminal`, is, withinMs).catch((error: Error) => {
      throw new Error(`${error.message}; the output was: ${this.output}`);
    });
  }

  typeText(text: string): void {
    this.child.stdin!.write(text);
  }

  pressCtrlC(): void {
    this.typeText('\x03');
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }
}

function collectOutput(child: ChildProcess, input: string): Promise<CommandOutput> {
  let [out, err] = ['', ''];
  child.stdout!.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin!.on('error', () => undefined);
  child.stdin!.end(input);
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out, err })));
}
