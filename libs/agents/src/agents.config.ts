import { BaseConfig, EnvInt } from '@muster/platform';

/** What machines are asked for, and how long they are believed. */
export class AgentsConfig extends BaseConfig {
  @EnvInt('HEARTBEAT_SECONDS', {
    description: 'How often a machine is asked to report.',
    default: 30,
    min: 1,
    max: 3600,
  })
  readonly heartbeatSeconds!: number;

  @EnvInt('AGENT_OFFLINE_AFTER_MS', {
    description: 'An online machine that sends no heartbeat for so long is offline.',
    default: 90_000,
    min: 100,
  })
  readonly agentOfflineAfterMs!: number;

  @EnvInt('IDLE_MONITOR_TICK_MS', {
    description: 'How often machines are looked for that have been idle for longer than their organization allows.',
    default: 30_000,
    min: 50,
  })
  readonly idleMonitorTickMs!: number;

  @EnvInt('PREWAKE_TICK_MS', {
    description: 'How often machines are looked for that are to be woken ahead of a schedule’s time.',
    default: 2000,
    min: 50,
  })
  readonly prewakeTickMs!: number;

  @EnvInt('COMMAND_SWEEP_MS', {
    description:
      'How often commands are looked for that are to be pushed again, or past their deadline; every fifth time where all is quiet.',
    default: 1000,
    min: 20,
  })
  readonly commandSweepMs!: number;

  @EnvInt('COMMAND_POLLS_MAX', {
    description: 'Machines that wait for commands at one process; one more is answered at once.',
    default: 5000,
    min: 1,
  })
  readonly commandPollsMax!: number;

  @EnvInt('COMMAND_POLLS_MAX_PER_ORGANIZATION', {
    description: 'Machines of one organization that wait for commands at one process; one more gets 429.',
    default: 1000,
    min: 1,
  })
  readonly commandPollsMaxPerOrganization!: number;
}
