import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Database } from '@muster/database';
import { Clock, Periodic } from '@muster/platform';
import { purgeScheduleHistory, runDueSchedules } from '@muster/schedules';
import { SchedulerConfig } from './scheduler.config';

/** The service's own ticks. On any number of replicas a schedule runs once for each of its times. */
@Injectable()
export class ScheduleTicks implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(ScheduleTicks.name);
  private readonly loops: Periodic[];

  constructor(
    @Inject(SchedulerConfig) config: SchedulerConfig,
    @Inject(Database) database: Database,
    @Inject(Clock) clock: Clock,
  ) {
    this.loops = [
      new Periodic({
        name: 'run due schedules',
        intervalMs: config.scheduleTickMs,
        runOnce: async () => {
          const { scanned, launched, skipped, failed } = await runDueSchedules(database, {
            now: clock.now(),
            limit: 100_000,
            budgetMs: 60_000,
            whenScanned: 'leave',
          });
          for (const { scheduleId, reason, detail } of failed) {
            this.logger.warn(`schedule ${scheduleId} failed: ${reason}: ${detail}`);
          }
          return { scanned, launched: launched.length, skipped: skipped.length, failed: failed.length };
        },
      }),
      new Periodic({
        name: 'purge schedule history',
        intervalMs: config.maintenanceTickMs,
        runOnce: () => purgeScheduleHistory(database, { now: clock.now(), keepDays: config.scheduleHistoryDays }),
      }),
    ];
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }
}
