import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from '@muster/database';
import { failStaleJobs, type StaleReport } from '@muster/jobs';
import { Periodic } from '@muster/platform';
import { SchedulerConfig } from './scheduler.config';

/** The watchdog of jobs, by the service's own tick and for whoever asks for a round. */
@Injectable()
export class StaleJobsTick implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly loop: Periodic;

  constructor(
    @Inject(SchedulerConfig) private readonly config: SchedulerConfig,
    @Inject(Database) private readonly database: Database,
  ) {
    this.loop = new Periodic({
      name: 'fail stale jobs',
      intervalMs: config.staleJobsTickMs,
      runOnce: async () => {
        const { failed, ...counts } = await this.runOnce();
        return { ...counts, failed: failed.length };
      },
    });
  }

  runOnce(): Promise<StaleReport> {
    const { jobLostAfterMs: lostAfterMs, jobStalledAfterMs: stalledAfterMs } = this.config;
    return failStaleJobs(this.database, { lostAfterMs, stalledAfterMs });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
