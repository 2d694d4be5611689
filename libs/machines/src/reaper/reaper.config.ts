import { BaseConfig, EnvChoice, EnvInt } from '@muster/platform';

/** Configuration of the reaper, which finds machines without an agent and agents without a machine. */
export class ReaperConfig extends BaseConfig {
  @EnvInt('REAPER_TICK_MS', {
    description:
      'Interval in milliseconds at which the service lists the machines at each provider and compares them with the ' +
      'agents.',
    default: 300_000,
    min: 50,
  })
  readonly reaperTickMs!: number;

  @EnvInt('REAPER_CONFIRM_MS', {
    description:
      'Minimum age in milliseconds of a finding (a machine without an agent, or an agent without a machine) before ' +
      'the service acts on it. A later check must find it again.',
    default: 600_000,
    min: 0,
  })
  readonly reaperConfirmMs!: number;

  @EnvChoice('REAPER_ORPHANS', ['stop', 'report'], {
    description:
      'Action for a machine without an agent, after a later check has confirmed it: stop the machine, or only ' +
      'report it.',
    default: 'stop',
  })
  readonly reaperOrphans!: string;
}
