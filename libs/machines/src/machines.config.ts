import { BaseConfig, EnvInt } from '@muster/platform';

/** Limits and intervals for heartbeats and idle machines. */
export class MachinesConfig extends BaseConfig {
  @EnvInt('HEARTBEAT_SECONDS', {
    description: 'Seconds between two heartbeats of a worker.',
    default: 30,
    min: 1,
    max: 3600,
  })
  readonly heartbeatSeconds!: number;

  @EnvInt('AGENT_OFFLINE_AFTER_MS', {
    description: 'Milliseconds without a heartbeat after which an online agent becomes offline.',
    default: 90_000,
    min: 100,
  })
  readonly agentOfflineAfterMs!: number;

  @EnvInt('IDLE_MONITOR_TICK_MS', {
    description:
      'Interval in milliseconds at which machines are checked for being idle longer than their organization allows.',
    default: 30_000,
    min: 50,
  })
  readonly idleMonitorTickMs!: number;

  @EnvInt('PREWAKE_TICK_MS', {
    description: 'Interval in milliseconds at which the service checks which machines to start ahead of a schedule.',
    default: 2000,
    min: 50,
  })
  readonly prewakeTickMs!: number;
}
