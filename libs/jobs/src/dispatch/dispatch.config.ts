import { BaseConfig, EnvInt } from '@muster/platform';

/** Limits and intervals of the dispatch of jobs to agents. */
export class DispatchConfig extends BaseConfig {
  @EnvInt('DISPATCH_DEADLINE_MS', {
    default: 60_000,
    min: 100,
    description:
      'How long an online agent may leave a dispatched run unacknowledged, in milliseconds, before its queued jobs ' +
      'show the waiting reason agent_offline.',
  })
  dispatchDeadlineMs!: number;

  @EnvInt('DISPATCH_SWEEP_MS', {
    default: 5000,
    min: 100,
    description:
      'Interval in milliseconds at which jobs that could start are dispatched, in case their queue message was lost.',
  })
  dispatchSweepMs!: number;
}
