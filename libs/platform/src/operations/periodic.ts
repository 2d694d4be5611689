import { Logger } from '@nestjs/common';

export interface PeriodicOptions {
  name: string;
  intervalMs: number;
  /** One round; answers what it did. It must be safe on any number of replicas at once. */
  runOnce: () => Promise<Record<string, number>>;
}

/** A maintenance loop: rounds that never overlap, a failed one logged and the next one on time. */
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
    const { name, runOnce } = this.options;
    try {
      const counts = await runOnce();
      if (Object.values(counts).some((count) => count > 0)) this.logger.debug(`${name}`, { ...counts });
    } catch (error) {
      this.logger.warn(`${name} failed: ${(error as Error).message}`);
    }
  }
}
