import { BaseConfig, EnvInt } from '@muster/platform';

export class SchedulerConfig extends BaseConfig {
  @EnvInt('MAINTENANCE_TICK_MS', {
    description: 'How often expired rows are dropped and every queue gets a canary.',
    default: 60_000,
    min: 100,
  })
  readonly maintenanceTickMs!: number;
}
