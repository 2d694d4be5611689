import { type ChildProcess, spawn } from 'node:child_process';
import { Backoff } from '../../start/backoff';

const endTimeoutMs = 8000;

/** The process of one app. It is restarted on request and after it died. */
export class ServedApp {
  private child?: ChildProcess;
  private turn = Promise.resolve();
  private wanted = false;
  private readonly backoff = new Backoff();
  private revival?: NodeJS.Timeout;

  constructor(
    private readonly main: string,
    private readonly env: NodeJS.ProcessEnv,
    private readonly say: (line: string) => void,
  ) {}

  get isWanted(): boolean {
    return this.wanted;
  }

  /** Starts the app, after a running one has ended gracefully. */
  start(): Promise<void> {
    this.wanted = true;
    this.backoff.forget();
    return this.next(async () => {
      await this.end();
      // `stop` was called in the meantime.
      if (this.wanted) this.launch();
    });
  }

  stop(): Promise<void> {
    this.wanted = false;
    return this.next(() => this.end());
  }

  private launch(): void {
    // The app exits when its channel to this process closes, even if this process was killed.
    const child = spawn(process.execPath, ['--enable-source-maps', this.main], {
      env: this.env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.child = child;
    const died = (how: string) => {
      if (this.child !== child) return;
      this.child = undefined;
      const waitMs = this.backoff.next();
      const when = waitMs < 1000 ? 'at once' : `in ${Math.round(waitMs / 1000)} s, or with the next change`;
      this.say(`ended unexpectedly (${how}); restarting ${when}`);
      this.revival = setTimeout(() => void this.next(async () => this.wanted && !this.child && this.launch()), waitMs);
    };
    child.once('error', (error) => died(error.message));
    child.once('exit', (code, signal) => died(signal ?? `code ${code}`));
  }

  private async end(): Promise<void> {
    const { child } = this;
    this.child = undefined;
    clearTimeout(this.revival);
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), endTimeoutMs);
    await ended;
    clearTimeout(late);
  }

  private next(action: () => Promise<unknown>): Promise<void> {
    this.turn = this.turn.then(action).then(() => undefined);
    return this.turn;
  }
}
