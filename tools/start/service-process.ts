import cluster, { type Worker } from 'node:cluster';
import { Backoff } from './backoff';
import { StartError } from './options';
import type { ServiceLog } from './service-log';

export interface ProcessOptions {
  /** The name that messages print. */
  name: string;
  env: NodeJS.ProcessEnv;
  log: ServiceLog;
  say: (line: string) => void;
}

/** One process of the service. It is started again when it dies. */
export class ServiceProcess {
  /** Port of the process's metrics. */
  internalPort = 0;
  private worker?: Worker;
  private ending = false;
  private readonly backoff = new Backoff();

  constructor(private readonly options: ProcessOptions) {}

  /** Starts the process. Resolves when it listens; rejects with its error output if it exits before. */
  start(): Promise<void> {
    const { env, log } = this.options;
    const worker = cluster.fork(env);
    this.worker = worker;
    let errorOutput = '';
    log.appendFrom(worker.process.stdout!);
    log.appendFrom(worker.process.stderr!);
    worker.process.stderr!.on('data', (text: string) => (errorOutput = `${errorOutput}${text}`.slice(-4000)));
    return new Promise((resolve, reject) => {
      worker.once('message', ({ internalPort }: { internalPort: number }) => {
        worker.removeAllListeners('exit');
        worker.once('exit', (code: number, signal: string | null) => this.handleDeath(signal || `code ${code}`));
        this.internalPort = internalPort;
        resolve();
      });
      worker.once('exit', (code: number) => {
        const reason = errorOutput.trim().replace(/^standalone: /, '');
        reject(new StartError(reason || `The service ended with code ${code}; see ${log.file}.`));
      });
    });
  }

  async stop(timeoutMs: number): Promise<void> {
    this.ending = true;
    const child = this.worker?.process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    await ended;
    clearTimeout(late);
  }

  private handleDeath(how: string): void {
    if (this.ending) return;
    const { say, name, log } = this.options;
    say(`${name} ended unexpectedly (${how}), see ${log.file}; restarting it`);
    setTimeout(() => {
      if (this.ending) return;
      this.start().then(
        () => say(`${name} is running again`),
        (error: Error) => this.handleDeath(error.message.split('\n')[0]!),
      );
    }, this.backoff.computeNextDelay());
  }
}
