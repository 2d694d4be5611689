import { type ChildProcess, spawn } from 'node:child_process';

const endTimeoutMs = 8000;

/** One app's process, ended and started again as often as wanted. */
export class ServedApp {
  private child?: ChildProcess;
  private turn = Promise.resolve();
  private wanted = false;

  constructor(
    private readonly main: string,
    private readonly env: NodeJS.ProcessEnv,
    private readonly say: (line: string) => void,
  ) {}

  get isWanted(): boolean {
    return this.wanted;
  }

  /** Starts it, or ends it gracefully and starts it again. */
  start(): Promise<void> {
    this.wanted = true;
    return this.next(async () => {
      await this.end();
      // What was asked for meanwhile has its own turn.
      if (this.wanted) this.begin();
    });
  }

  stop(): Promise<void> {
    this.wanted = false;
    return this.next(() => this.end());
  }

  private begin(): void {
    // It ends by itself when its channel to us closes, whatever became of us.
    const child = spawn(process.execPath, ['--enable-source-maps', this.main], {
      env: this.env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.child = child;
    child.once('error', (error) => this.say(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      if (this.child !== child) return;
      this.child = undefined;
      this.say(`ended by itself (${signal ?? `code ${code}`}); it starts again with the next change`);
    });
  }

  private async end(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
    await ended;
    clearTimeout(late);
  }

  private next(action: () => Promise<void>): Promise<void> {
    this.turn = this.turn.then(action);
    return this.turn;
  }
}
