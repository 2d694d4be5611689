import { bootstrapFaults, type BootstrapInput } from '@muster/access';
import { EnvInt, EnvText } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** What the first start makes, where the database has no organization yet. Afterwards these are not read. */
export class GatewayConfig extends StorageConfig {
  @EnvText('BOOTSTRAP_ORGANIZATION', { description: 'The first organization’s name.', optional: true })
  readonly bootstrapOrganization?: string;

  @EnvText('BOOTSTRAP_ADMIN_EMAIL', { description: 'Its admin.', optional: true })
  readonly bootstrapAdminEmail?: string;

  @EnvText('BOOTSTRAP_ADMIN_PASSWORD', {
    description: '12 to 128 characters, none of the most common.',
    optional: true,
    secret: true,
  })
  readonly bootstrapAdminPassword?: string;

  @EnvText('BOOTSTRAP_SUPER_ADMIN_EMAIL', { description: 'Who works across organizations.', optional: true })
  readonly bootstrapSuperAdminEmail?: string;

  @EnvText('BOOTSTRAP_SUPER_ADMIN_PASSWORD', {
    description: '12 to 128 characters, none of the most common.',
    optional: true,
    secret: true,
  })
  readonly bootstrapSuperAdminPassword?: string;

  @EnvText('BOOTSTRAP_API_KEY', {
    description: 'A key of scope api: msk_<id>_<secret>, its id 8 to 32 of a-z and 0-9.',
    optional: true,
    secret: true,
  })
  readonly bootstrapApiKey?: string;

  @EnvText('BOOTSTRAP_WORKER_KEY', { description: 'A key of scope worker, likewise.', optional: true, secret: true })
  readonly bootstrapWorkerKey?: string;

  @EnvInt('EVENT_STREAMS_MAX', {
    description: 'Event streams of one process; one more gets 503.',
    default: 10_000,
    min: 1,
  })
  readonly eventStreamsMax!: number;

  @EnvInt('EVENT_STREAMS_MAX_PER_ORGANIZATION', {
    description: 'Event streams of one organization at one process; one more gets 429.',
    default: 1000,
    min: 1,
  })
  readonly eventStreamsMaxPerOrganization!: number;

  @EnvInt('EVENT_STREAMS_HEARTBEAT_MS', {
    description: 'How often a stream gets a comment; at every second one its access is checked again.',
    default: 15_000,
    min: 15,
  })
  readonly eventStreamsHeartbeatMs!: number;

  @EnvInt('EVENT_STREAMS_LOOK_MS', {
    description: 'How often the followed timelines are looked at, whatever Redis tells.',
    default: 1000,
    min: 20,
  })
  readonly eventStreamsLookMs!: number;

  /** Null where there is nothing to make. */
  get bootstrap(): BootstrapInput | null {
    if (!this.bootstrapOrganization) return null;
    return {
      organization: this.bootstrapOrganization,
      adminEmail: this.bootstrapAdminEmail,
      adminPassword: this.bootstrapAdminPassword,
      superAdminEmail: this.bootstrapSuperAdminEmail,
      superAdminPassword: this.bootstrapSuperAdminPassword,
      apiKey: this.bootstrapApiKey,
      workerKey: this.bootstrapWorkerKey,
    };
  }

  override faults(): string[] {
    return [...super.faults(), ...(this.bootstrap ? bootstrapFaults(this.bootstrap) : [])];
  }
}
