import { BaseConfig, EnvChoice, EnvInt } from '@muster/platform';

/** How machines without an agent and agents without a machine are looked for. */
export class ReaperConfig extends BaseConfig {
  @EnvInt('REAPER_TICK_MS', {
    description: 'How often providers are asked what machines of ours they have.',
    default: 300_000,
    min: 50,
  })
  readonly reaperTickMs!: number;

  @EnvInt('REAPER_CONFIRM_MS', {
    description: 'What a pass finds is acted on when a later one, after at least so long, finds it still.',
    default: 600_000,
    min: 0,
  })
  readonly reaperConfirmMs!: number;

  @EnvChoice('REAPER_ORPHANS', ['stop', 'report'], {
    description: 'What becomes of a machine that no agent owns, once that is confirmed.',
    default: 'stop',
  })
  readonly reaperOrphans!: string;
}
