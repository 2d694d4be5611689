import { Logger } from '@nestjs/common';

export interface PeriodicOptions {
  name: string;
  intervalMs: number;
  /** Returns the milliseconds until the next round; called after each round. The default is the interval. */
  nextInMs?: () => number;
  /** Runs one round. Must be safe on any number of replicas at the same time. */
  runOnce: () => Promise<unknown>;
  /**
   * Returns the milliseconds until something is due; null if unknown. The next round then starts before its interval.
   */
  dueInMs?: () => Promise<number | null>;
}

/** Minimum pause in milliseconds, so that due work that cannot be processed does not cause a busy loop. */
const shortestPauseMs = 10;

/** Runs rounds that never overlap. A failed round is logged, and the next round starts as planned. */
export class Periodic {
  private readonly logger = new Logger(Periodic.name);
  private timer?: NodeJS.Timeout;
  private dueAt = 0;
  private round?: Promise<void>;
  private stopped = false;

  constructor(private readonly options: PeriodicOptions) {}

  start(): void {
    if (this.stopped || this.timer) return;
    // The first interval is randomized, so that replicas that start together do not run their rounds at the same time.
    this.scheduleRound(Math.random() * this.options.intervalMs);
  }

  /** Moves the next round forward if it is more than one interval away. */
  moveNextRoundForward(): void {
    const { intervalMs } = this.options;
    if (this.stopped || this.dueAt <= performance.now() + intervalMs) return;
    clearTimeout(this.timer);
    this.scheduleRound(intervalMs);
  }

  /** Resolves when the current round has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.round;
  }

  private startRound(): void {
    this.round = this.runAndScheduleNext();
  }

  private async runAndScheduleNext(): Promise<void> {
    await this.runOnce();
    const pauseMs = await this.computePauseMs();
    if (!this.stopped) this.scheduleRound(pauseMs);
  }

  private async computePauseMs(): Promise<number> {
    const { name, intervalMs, nextInMs, dueInMs } = this.options;
    try {
      const dueMs = Math.max(shortestPauseMs, (await dueInMs?.()) ?? Infinity);
      return Math.min(nextInMs?.() ?? intervalMs, dueMs);
    } catch (error) {
      this.logger.warn(`${name} could not read what is due next: ${(error as Error).message}`);
      return intervalMs;
    }
  }

  private scheduleRound(ms: number): void {
    this.dueAt = performance.now() + ms;
    this.timer = setTimeout(() => this.startRound(), ms);
  }

  private async runOnce(): Promise<void> {
    try {
      await this.options.runOnce();
    } catch (error) {
      this.logger.warn(`${this.options.name} failed: ${(error as Error).message}`);
    }
  }
}
