import { BaseConfig, EnvInt, EnvText, EnvUrl } from '@muster/platform';

/** For apps that have to do with machines. */
export class VmConfig extends BaseConfig {
  @EnvText('LOCAL_AGENTS_DIR', {
    description: 'Where the workers of local agents live, one folder each; on this machine and no shared volume.',
    default: '.muster/agents',
  })
  readonly localAgentsDir!: string;

  @EnvText('LOCAL_WORKER_PROGRAM', {
    description: 'The worker program of local agents; absent means the one that was built with the service.',
    optional: true,
  })
  readonly localWorkerProgram?: string;

  @EnvUrl('LOCAL_SERVICE_URL', {
    description: 'Where local workers reach the service; absent means PUBLIC_APP_URL.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly localServiceUrl?: string;

  @EnvInt('WAKE_TIMEOUT_MS', {
    description: 'A machine that was started, or rebooted, has to report by then.',
    default: 120_000,
    min: 100,
  })
  readonly wakeTimeoutMs!: number;
}
