import { BaseConfig, EnvInt } from '@muster/platform';

export class SchedulerConfig extends BaseConfig {
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
}
