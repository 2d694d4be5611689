import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';

/**
 * A program in a separate process. It sends one message when it is ready, and then answers one question after another.
 */
export class Child {
  private constructor(
    private readonly process: ChildProcess,
    /** The URL at which the program listens, or an empty text. */
    readonly url: string,
  ) {}

  static async start(main: string, env: Record<string, string>): Promise<Child> {
    const child = fork(main, {
      env: { PATH: process.env['PATH'], ...env },
      execArgv: readChildArguments(),
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const { url = '' } = await waitForMessage<{ url?: string }>(child, main);
    return new Child(child, url);
  }

  get pid(): number {
    return this.process.pid!;
  }

  /** Listens to messages that are not answers. */
  addListener<M>(listener: (message: M) => void): void {
    this.process.on('message', listener as (message: unknown) => void);
  }

  /** Ends the effect of `addListener`. */
  removeListener(): void {
    this.process.removeAllListeners('message');
  }

  /** Resident memory, including shared libraries. */
  async readResidentBytes(): Promise<number> {
    const status = await readFile(`/proc/${this.process.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) * 1024;
  }

  askQuestion<A>(question: object): Promise<A> {
    this.process.send(question);
    return waitForMessage<A>(this.process, 'a benchmark’s process');
  }

  async stop(): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    const gone = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    await gone;
  }
}

/** BENCH_NODE_OPTIONS='--cpu-prof --cpu-prof-dir=…' profiles the measured processes. */
function readChildArguments(): string[] {
  return process.env['BENCH_NODE_OPTIONS']?.split(' ') ?? [];
}

function waitForMessage<M>(child: ChildProcess, name: string): Promise<M> {
  return new Promise((resolve, reject) => {
    const rejectOnEnd = (code: number | null) => reject(new Error(`${name} ended with ${code}`));
    child.once('exit', rejectOnEnd);
    child.once('message', (message) => {
      child.off('exit', rejectOnEnd);
      resolve(message as M);
    });
  });
}
