import { BaseConfig, EnvFlag, EnvInt, EnvText, EnvUrl } from '@muster/platform';

/** Configuration of the machine providers. */
export class VmConfig extends BaseConfig {
  @EnvFlag('LOCAL_AGENTS', {
    description:
      'Whether agents of the provider “local” can be created. Their workers run on the service’s own machine, so ' +
      'allow them only if you trust all users of the service with that machine. npm start sets it to true.',
    default: false,
  })
  readonly localAgents!: boolean;

  @EnvText('LOCAL_AGENTS_DIR', {
    description:
      'Folder for the workers of local agents, with a subfolder for each worker. The folder must be on this machine ' +
      'and not on a shared volume.',
    default: '.muster/agents',
  })
  readonly localAgentsDir!: string;

  @EnvText('LOCAL_WORKER_PROGRAM', {
    description:
      'Path of the worker program of local agents. If absent, the one that was built with the service is used.',
    optional: true,
  })
  readonly localWorkerProgram?: string;

  @EnvUrl('LOCAL_SERVICE_URL', {
    description:
      'Address at which local workers reach the service. If absent, it is PUBLIC_APP_URL, or else the public port on ' +
      'this machine.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly localServiceUrl?: string;

  @EnvInt('WAKE_TIMEOUT_MS', {
    description:
      'Milliseconds within which the worker of a machine that was started or rebooted must report. After that the ' +
      'start or the reboot fails.',
    default: 120_000,
    min: 100,
  })
  readonly wakeTimeoutMs!: number;

  @EnvInt('STOP_TIMEOUT_MS', {
    description:
      'Milliseconds after which the stop of a machine fails if the machine is not off by then, even if its provider ' +
      'does not answer. The agent then becomes offline, or online again if its worker still reports.',
    default: 600_000,
    min: 100,
  })
  readonly stopTimeoutMs!: number;

  @EnvUrl('EC2_ENDPOINT', {
    description:
      'URL of an EC2-compatible API, used for every region. If absent, AWS’s endpoint of the region is used.',
    protocols: ['http:', 'https:'],
    optional: true,
  })
  readonly ec2Endpoint?: string;

  @EnvText('EC2_ACCESS_KEY_ID', {
    description:
      'Access key for EC2. If absent, the platform’s credentials are used (an instance role or a web identity).',
    optional: true,
  })
  readonly ec2AccessKeyId?: string;

  @EnvText('EC2_SECRET_ACCESS_KEY', {
    description: 'Secret key that belongs to EC2_ACCESS_KEY_ID.',
    optional: true,
    secret: true,
  })
  readonly ec2SecretAccessKey?: string;

  @EnvText('DOCKER_HOST', {
    description:
      'Docker Engine that is used for agents without a host in their providerConfig: unix:///path or ' +
      'tcp://host:port. On any engine, the service uses only containers with the label muster.organization=<id of ' +
      'the agent’s organization>.',
    optional: true,
  })
  readonly dockerHost?: string;

  @EnvText('DOCKER_CERT_PATH', {
    description:
      'Folder with ca.pem, cert.pem and key.pem for TLS to DOCKER_HOST. ca.pem verifies the engine; the other two ' +
      'authenticate the service. The files are read again for each call.',
    optional: true,
  })
  readonly dockerCertPath?: string;

  @EnvText('DOCKER_TLS_VERIFY', {
    description:
      'Any value enables TLS to DOCKER_HOST without DOCKER_CERT_PATH. The engine is verified against Node’s built-in ' +
      'certificate authorities.',
    optional: true,
  })
  readonly dockerTlsVerify?: string;
}
