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
    this.backoff.resetBackoff();
    return this.runNext(async () => {
      await this.endProcess();
      // `stop` was called in the meantime.
      if (this.wanted) this.launchProcess();
    });
  }

  stop(): Promise<void> {
    this.wanted = false;
    return this.runNext(() => this.endProcess());
  }

  private launchProcess(): void {
    // The app exits when its channel to this process closes, even if this process was killed.
    const child = spawn(process.execPath, ['--enable-source-maps', this.main], {
      env: this.env,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.child = child;
    const handleDeath = (how: string) => {
      if (this.child !== child) return;
      this.child = undefined;
      const waitMs = this.backoff.computeNextDelay();
      const when = waitMs < 1000 ? 'at once' : `in ${Math.round(waitMs / 1000)} s, or with the next change`;
      this.say(`ended unexpectedly (${how}); restarting ${when}`);
      this.revival = setTimeout(
        () => void this.runNext(async () => this.wanted && !this.child && this.launchProcess()),
        waitMs,
      );
    };
    child.once('error', (error) => handleDeath(error.message));
    child.once('exit', (code, signal) => handleDeath(signal ?? `code ${code}`));
  }

  private async endProcess(): Promise<void> {
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

  private runNext(action: () => Promise<unknown>): Promise<void> {
    this.turn = this.turn.then(action).then(() => undefined);
    return this.turn;
  }
}
