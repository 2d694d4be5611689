import { CronConfig } from '@muster/access';
import { EnvInt } from '@muster/platform';

export class SchedulerConfig extends CronConfig {
  @EnvInt('MAINTENANCE_TICK_MS', {
    description: 'How often expired rows are dropped and every queue gets a canary.',
    default: 60_000,
    min: 100,
  })
  readonly maintenanceTickMs!: number;

  @EnvInt('TIMELINE_RETENTION_DAYS', {
    description:
      'Timeline entries are dropped by the month, once all of it is older, however long an organization keeps them; 0 ' +
      'leaves it to the organizations.',
    default: 400,
    max: 36_500,
  })
  readonly timelineRetentionDays!: number;

  @EnvInt('MEASURE_TICK_MS', {
    description: 'How often machines, waiting runs, money and what must be equal are measured for /metrics.',
    default: 15_000,
    min: 50,
  })
  readonly measureTickMs!: number;

  @EnvInt('RETENTION_TICK_MS', {
    description: 'How often what organizations keep no longer is dropped.',
    default: 600_000,
    min: 50,
  })
  readonly retentionTickMs!: number;

  @EnvInt('ROLLUPS_TICK_MS', {
    description: 'How often the sums behind the return on investment are brought up to what has changed.',
    default: 5_000,
    min: 50,
  })
  readonly rollupsTickMs!: number;

  @EnvInt('SCHEDULE_TICK_MS', {
    description: 'How often due schedules are looked for.',
    default: 15_000,
    min: 50,
  })
  readonly scheduleTickMs!: number;

  @EnvInt('SCHEDULE_HISTORY_DAYS', {
    description: 'What became of a schedule’s times is dropped after this; 0 keeps it for ever.',
    default: 400,
    max: 36_500,
  })
  readonly scheduleHistoryDays!: number;

  @EnvInt('STALE_JOBS_TICK_MS', {
    description: 'How often runs are looked for that are past their limit, lost or stalled.',
    default: 60_000,
    min: 50,
  })
  readonly staleJobsTickMs!: number;

  @EnvInt('JOB_LOST_AFTER_MS', {
    description: 'A job that its agent has, and that nobody has heard of for so long, fails.',
    default: 900_000,
    min: 100,
  })
  readonly jobLostAfterMs!: number;

  @EnvInt('JOB_STALLED_AFTER_MS', {
    description: 'A run without a step, a claim or a log line for so long is called stalled; 0 calls none so.',
    default: 3_600_000,
  })
  readonly jobStalledAfterMs!: number;

  get staleLimits(): { lostAfterMs: number; stalledAfterMs: number } {
    return { lostAfterMs: this.jobLostAfterMs, stalledAfterMs: this.jobStalledAfterMs };
  }
}
