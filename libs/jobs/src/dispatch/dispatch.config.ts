import { BaseConfig, EnvInt } from '@muster/platform';

/** How long jobs wait for their machines before something is done about it. */
export class DispatchConfig extends BaseConfig {
  @EnvInt('DISPATCH_DEADLINE_MS', {
    default: 60_000,
    min: 100,
    description: 'How long an agent that seems online may leave a command untaken before it is doubted.',
  })
  dispatchDeadlineMs!: number;

  @EnvInt('DISPATCH_SWEEP_MS', {
    default: 5000,
    min: 100,
    description: 'How often jobs are looked for whose turn has come without a message for them.',
  })
  dispatchSweepMs!: number;
}
