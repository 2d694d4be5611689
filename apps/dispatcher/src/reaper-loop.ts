import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Reaper, ReaperConfig } from '@muster/agents';
import { Periodic } from '@muster/platform';

/** Machines that nobody owns, and agents that have none. */
@Injectable()
export class ReaperLoop implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: Periodic;

  constructor(
    @Inject(ReaperConfig) { reaperTickMs: intervalMs }: ReaperConfig,
    @Inject(Reaper) private readonly reaper: Reaper,
  ) {
    this.loop = new Periodic({ name: 'reap machines', intervalMs, runOnce: () => reaper.runOnce() });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    this.reaper.end();
    await this.loop.stop();
  }
}
