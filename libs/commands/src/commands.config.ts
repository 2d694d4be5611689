import { BaseConfig, EnvInt } from '@muster/platform';

/** Limits and intervals for the delivery of commands. */
export class CommandsConfig extends BaseConfig {
  @EnvInt('COMMAND_SWEEP_MS', {
    description:
      'Interval in milliseconds at which commands that no worker has acknowledged are sent again, and commands that ' +
      'are past their deadline fail. While there are none, the interval is five times as long.',
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
