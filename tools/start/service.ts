import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, renameSync, statSync } from 'node:fs';
import { StartError } from './options';

export interface ServiceOptions {
  main: string;
  env: NodeJS.ProcessEnv;
  logFile: string;
  say: (line: string) => void;
}

/** The service's process: started, brought back when it dies, ended when we end. */
export class Service {
  private child?: ChildProcess;
  private ending = false;
  private deaths: number[] = [];

  constructor(private readonly options: ServiceOptions) {
    rotate(options.logFile);
  }

  /** Answers when it listens, or fails with what it said. */
  async start(): Promise<{ internalPort: number }> {
    const { main, env, logFile } = this.options;
    // A session of its own: Ctrl-C reaches us alone, and we end the parts in order. It ends itself when we are gone.
    const child = spawn(process.execPath, ['--enable-source-maps', main], {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.child = child;
    const log = createWriteStream(logFile, { flags: 'a', mode: 0o600 });
    log.on('error', (error) => this.options.say(`${logFile} cannot be written: ${error.message}`));
    let said = '';
    child.stdout!.pipe(log, { end: false });
    child.stderr!.on('data', (chunk: Buffer) => {
      said = `${said}${chunk.toString()}`.slice(-4000);
      log.write(chunk);
    });
    return new Promise((resolve, reject) => {
      child.once('message', (message: { internalPort: number }) => {
        child.removeAllListeners('exit');
        child.once('exit', (code, signal) => this.died(signal ?? `code ${code}`));
        resolve(message);
      });
      child.once('exit', (code) => {
        reject(
          new StartError(
            said.trim().replace(/^standalone: /, '') || `The service ended with code ${code}; read ${logFile}.`,
          ),
        );
      });
    });
  }

  async stop(timeoutMs: number): Promise<void> {
    this.ending = true;
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
    await ended;
    clearTimeout(late);
  }

  private died(how: string): void {
    if (this.ending) return;
    const now = Date.now();
    this.deaths = [...this.deaths.filter((at) => now - at < 60_000), now];
    const { say, logFile } = this.options;
    const waitMs = Math.min(250 * 2 ** this.deaths.length, 10_000);
    say(`the service ended unexpectedly (${how}), see ${logFile}; starting it again`);
    setTimeout(() => {
      if (this.ending) return;
      this.start().then(
        () => say('the service is back'),
        (error: Error) => this.died(error.message.split('\n')[0]!),
      );
    }, waitMs);
  }
}

const rotateAtBytes = 20 * 1024 * 1024;

function rotate(logFile: string): void {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0;
  if (size > rotateAtBytes) renameSync(logFile, `${logFile}.1`);
}
