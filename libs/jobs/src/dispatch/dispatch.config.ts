import { BaseConfig, EnvInt } from '@muster/platform';

/** Limits and intervals of the dispatch of jobs to agents. */
export class DispatchConfig extends BaseConfig {
  @EnvInt('DISPATCH_DEADLINE_MS', {
    default: 60_000,
    min: 100,
    description:
      'Milliseconds after which the queued jobs of an online agent show the waiting reason agent_offline, if the ' +
      'agent has not acknowledged a run that was sent to it.',
  })
  dispatchDeadlineMs!: number;

  @EnvInt('DISPATCH_SWEEP_MS', {
    default: 5000,
    min: 100,
    description:
      'Interval in milliseconds at which the service starts queued jobs whose agent is free, in case their queue ' +
      'message was lost.',
  })
  dispatchSweepMs!: number;

  @EnvInt('PLACEMENT_SWEEP_MS', {
    default: 500,
    min: 20,
    description:
      'Interval in milliseconds at which the service chooses an idle agent for jobs that require labels, in case ' +
      'their queue message was lost or arrived while a run ended.',
  })
  placementSweepMs!: number;
}
