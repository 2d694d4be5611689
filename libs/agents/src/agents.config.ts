import { BaseConfig, EnvInt } from '@muster/platform';

/** Limits and intervals for heartbeats, commands and idle machines. */
export class AgentsConfig extends BaseConfig {
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

  @EnvInt('COMMAND_SWEEP_MS', {
    description:
      'Interval in milliseconds at which unacknowledged commands are pushed again and overdue ones fail. Without new ' +
      'work it is five times as long.',
    default: 1000,
    min: 20,
  })
  readonly commandSweepMs!: number;

  @EnvInt('COMMAND_POLLS_MAX', {
    description:
      'Maximum number of workers that can wait for commands in one process. Further workers get an answer at once, ' +
      'even without a command.',
    default: 5000,
    min: 1,
  })
  readonly commandPollsMax!: number;

  @EnvInt('COMMAND_POLLS_MAX_PER_ORGANIZATION', {
    description:
      'Maximum number of workers of one organization that can wait for commands in one process. Further workers get ' +
      '429.',
    default: 1000,
    min: 1,
  })
  readonly commandPollsMaxPerOrganization!: number;
}
