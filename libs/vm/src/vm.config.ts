import { BaseConfig, EnvFlag, EnvInt, EnvText, EnvUrl } from '@muster/platform';

/** For apps that have to do with machines. */
export class VmConfig extends BaseConfig {
  @EnvFlag('LOCAL_AGENTS', {
    description:
      'Whether agents of the provider local exist: workers beside the service, for a service whose users are trusted ' +
      'with its machine. npm start sets it; elsewhere such an agent is refused.',
    default: false,
  })
  readonly localAgents!: boolean;

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
    description: 'Where local workers reach the service; absent means PUBLIC_APP_URL, else the public port.',
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

  @EnvInt('STOP_TIMEOUT_MS', {
    description:
      'What became of a machine that is to stop is settled by then, also where its provider does not answer.',
    default: 600_000,
    min: 100,
  })
  readonly stopTimeoutMs!: number;

  @EnvUrl('EC2_ENDPOINT', {
    description: 'An EC2 endpoint for every region; absent means the region’s own at AWS.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly ec2Endpoint?: string;

  @EnvText('EC2_ACCESS_KEY_ID', {
    description: 'Absent means the platform’s own credentials (an instance role, a web identity).',
    optional: true,
  })
  readonly ec2AccessKeyId?: string;

  @EnvText('EC2_SECRET_ACCESS_KEY', { description: 'Belongs to EC2_ACCESS_KEY_ID.', optional: true, secret: true })
  readonly ec2SecretAccessKey?: string;

  @EnvText('DOCKER_HOST', {
    description:
      'The Docker Engine of agents that name none: unix:///path or tcp://host:port. Only containers that are labelled ' +
      'with the agent’s organization (muster.organization=<id>) are touched, there and at an agent’s own host.',
    optional: true,
  })
  readonly dockerHost?: string;

  @EnvText('DOCKER_CERT_PATH', {
    description:
      'A folder with ca.pem, cert.pem and key.pem: the engine at DOCKER_HOST is spoken to over TLS, checked against the ' +
      'first and shown the others. They are read anew with each call.',
    optional: true,
  })
  readonly dockerCertPath?: string;

  @EnvText('DOCKER_TLS_VERIFY', {
    description: 'Anything: TLS without DOCKER_CERT_PATH, checked against the authorities that Node knows.',
    optional: true,
  })
  readonly dockerTlsVerify?: string;
}
