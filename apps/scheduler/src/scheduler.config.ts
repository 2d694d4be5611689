import { CronConfig } from '@muster/access';
import { EnvInt } from '@muster/platform';

export class SchedulerConfig extends CronConfig {
  @EnvInt('MAINTENANCE_TICK_MS', {
    description:
      'Interval of the maintenance loops: deleting expired rows, sending a canary to every queue, and others.',
    default: 60_000,
    min: 100,
  })
  readonly maintenanceTickMs!: number;

  @EnvInt('TIMELINE_RETENTION_DAYS', {
    description:
      'Maximum age of timeline entries in days, whatever retention an organization has. A month of entries is dropped ' +
      'when all of them are older. 0 means that only the organizations’ retention applies.',
    default: 400,
    max: 36_500,
  })
  readonly timelineRetentionDays!: number;

  @EnvInt('MEASURE_TICK_MS', {
    description: 'Interval at which machines, waiting runs, spend and consistency checks are measured for /metrics.',
    default: 15_000,
    min: 50,
  })
  readonly measureTickMs!: number;

  @EnvInt('RETENTION_TICK_MS', {
    description: 'Interval at which data past the organizations’ retention periods is deleted.',
    default: 600_000,
    min: 50,
  })
  readonly retentionTickMs!: number;

  @EnvInt('ROLLUPS_TICK_MS', {
    description: 'Interval at which the rollups of costs and of the return on investment are refreshed.',
    default: 5_000,
    min: 50,
  })
  readonly rollupsTickMs!: number;

  @EnvInt('SCHEDULE_TICK_MS', {
    description: 'Interval at which due schedules are searched for and executed.',
    default: 15_000,
    min: 50,
  })
  readonly scheduleTickMs!: number;

  @EnvInt('SCHEDULE_HISTORY_DAYS', {
    description: 'Days after which the history of a schedule’s runs is deleted; 0 retains it forever.',
    default: 400,
    max: 36_500,
  })
  readonly scheduleHistoryDays!: number;

  @EnvInt('STALE_JOBS_TICK_MS', {
    description: 'Interval at which runs that exceed their maximum runtime, are lost or are stalled are searched for.',
    default: 60_000,
    min: 50,
  })
  readonly staleJobsTickMs!: number;

  @EnvInt('JOB_LOST_AFTER_MS', {
    description: 'Time without a report after which a job that its agent has accepted fails.',
    default: 900_000,
    min: 100,
  })
  readonly jobLostAfterMs!: number;

  @EnvInt('JOB_STALLED_AFTER_MS', {
    description: 'Time without a step, a claim or a log line after which a run is marked as stalled; 0 disables this.',
    default: 3_600_000,
  })
  readonly jobStalledAfterMs!: number;

  get staleLimits(): { lostAfterMs: number; stalledAfterMs: number } {
    return { lostAfterMs: this.jobLostAfterMs, stalledAfterMs: this.jobStalledAfterMs };
  }
}
