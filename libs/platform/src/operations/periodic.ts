import { Logger } from '@nestjs/common';

export interface PeriodicOptions {
  name: string;
  intervalMs: number;
  /** Until the next round, asked after each; the interval unless said. */
  nextInMs?: () => number;
  /** One round. It must be safe on any number of replicas at once. */
  runOnce: () => Promise<unknown>;
  /** In how long something is due, where that is known: the next round then does not wait for its interval. */
  dueInMs?: () => Promise<number | null>;
}

/** What is due at once and could not be settled is not to keep it busy. */
const shortestPauseMs = 10;

/** Rounds that never overlap, a failed one logged and the next one on time. */
export class Periodic {
  private readonly logger = new Logger(Periodic.name);
  private timer?: NodeJS.Timeout;
  private dueAt = 0;
  private round?: Promise<void>;
  private stopped = false;

  constructor(private readonly options: PeriodicOptions) {}

  start(): void {
    if (this.stopped || this.timer) return;
    // Replicas that start together should not tick together.
    this.wait(Math.random() * this.options.intervalMs);
  }

  /** The next round comes within the interval, however far away it was. */
  hasten(): void {
    const { intervalMs } = this.options;
    if (this.stopped || this.dueAt <= performance.now() + intervalMs) return;
    clearTimeout(this.timer);
    this.wait(intervalMs);
  }

  /** Answers when the round that runs is over. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.round;
  }

  private tick(): void {
    this.round = this.turn();
  }

  private async turn(): Promise<void> {
    await this.runOnce();
    const pauseMs = await this.pauseMs();
    if (!this.stopped) this.wait(pauseMs);
  }

  private async pauseMs(): Promise<number> {
    const { name, intervalMs, nextInMs, dueInMs } = this.options;
    try {
      const dueMs = Math.max(shortestPauseMs, (await dueInMs?.()) ?? Infinity);
      return Math.min(nextInMs?.() ?? intervalMs, dueMs);
    } catch (error) {
      this.logger.warn(`${name} could not read what is due next: ${(error as Error).message}`);
      return intervalMs;
    }
  }

  private wait(ms: number): void {
    this.dueAt = performance.now() + ms;
    this.timer = setTimeout(() => this.tick(), ms);
  }

  private async runOnce(): Promise<void> {
    try {
      await this.options.runOnce();
    } catch (error) {
      this.logger.warn(`${this.options.name} failed: ${(error as Error).message}`);
    }
  }
}
