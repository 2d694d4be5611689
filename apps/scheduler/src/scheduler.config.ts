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
    description: 'Timeline entries are dropped by the month, once all of it is older; 0 keeps them for ever.',
    default: 400,
    max: 36_500,
  })
  readonly timelineRetentionDays!: number;

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
}
