import { Logger } from '@nestjs/common';

export interface PeriodicOptions {
  name: string;
  intervalMs: number;
  /** One round. It must be safe on any number of replicas at once. */
  runOnce: () => Promise<unknown>;
}

/** Rounds that never overlap, a failed one logged and the next one on time. */
export class Periodic {
  private readonly logger = new Logger(Periodic.name);
  private timer?: NodeJS.Timeout;
  private round?: Promise<void>;
  private stopped = false;

  constructor(private readonly options: PeriodicOptions) {}

  start(): void {
    if (this.stopped || this.timer) return;
    // Replicas that start together should not tick together.
    this.timer = setTimeout(() => this.tick(), Math.random() * this.options.intervalMs);
  }

  /** Answers when the round that runs is over. */
  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.round;
  }

  private tick(): void {
    this.round = this.runOnce().finally(() => {
      if (!this.stopped) this.timer = setTimeout(() => this.tick(), this.options.intervalMs);
    });
  }

  private async runOnce(): Promise<void> {
    try {
      await this.options.runOnce();
    } catch (error) {
      this.logger.warn(`${this.options.name} failed: ${(error as Error).message}`);
    }
  }
}
