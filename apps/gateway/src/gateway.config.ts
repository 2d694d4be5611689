import { checkBootstrapInput, type BootstrapInput } from '@muster/access';
import { EnvChoice, EnvInt, EnvText } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** Configuration of the gateway. The bootstrap values are used only while the database has no organization. */
export class GatewayConfig extends StorageConfig {
  @EnvText('BOOTSTRAP_ORGANIZATION', {
    description:
      'Name of the organization that the first start creates. The BOOTSTRAP_… variables are used only while the ' +
      'database has no organization.',
    optional: true,
  })
  readonly bootstrapOrganization?: string;

  @EnvText('BOOTSTRAP_ADMIN_EMAIL', {
    description: 'E-mail address of the first organization’s admin. Requires BOOTSTRAP_ADMIN_PASSWORD.',
    optional: true,
  })
  readonly bootstrapAdminEmail?: string;

  @EnvText('BOOTSTRAP_ADMIN_PASSWORD', {
    description: 'Password of the first organization’s admin: 12 to 128 characters and not a common password.',
    optional: true,
    secret: true,
  })
  readonly bootstrapAdminPassword?: string;

  @EnvText('BOOTSTRAP_SUPER_ADMIN_EMAIL', {
    description:
      'E-mail address of the super admin, who can work in all organizations. Requires ' +
      'BOOTSTRAP_SUPER_ADMIN_PASSWORD. This user must set up a second factor at the first sign-in, unless PUBLIC_APP_URL ' +
      'is absent or names a loopback address.',
    optional: true,
  })
  readonly bootstrapSuperAdminEmail?: string;

  @EnvText('BOOTSTRAP_SUPER_ADMIN_PASSWORD', {
    description: 'Password of the super admin: 12 to 128 characters and not a common password.',
    optional: true,
    secret: true,
  })
  readonly bootstrapSuperAdminPassword?: string;

  @EnvText('BOOTSTRAP_API_KEY', {
    description:
      'API key of scope api for the first organization: msk_<id>_<secret>. The id has 8 to 32 characters of a-z and ' +
      '0-9.',
    optional: true,
    secret: true,
  })
  readonly bootstrapApiKey?: string;

  @EnvText('BOOTSTRAP_WORKER_KEY', {
    description: 'API key of scope worker for the first organization, in the same form as BOOTSTRAP_API_KEY.',
    optional: true,
    secret: true,
  })
  readonly bootstrapWorkerKey?: string;

  @EnvInt('EVENT_STREAMS_MAX', {
    description: 'Maximum number of open event streams of one process. A request for another one gets 503.',
    default: 10_000,
    min: 1,
  })
  readonly eventStreamsMax!: number;

  @EnvInt('EVENT_STREAMS_MAX_PER_ORGANIZATION', {
    description:
      'Maximum number of open event streams of one organization in one process. A request for another one gets 429.',
    default: 1000,
    min: 1,
  })
  readonly eventStreamsMaxPerOrganization!: number;

  @EnvInt('EVENT_STREAMS_HEARTBEAT_MS', {
    description:
      'Interval in milliseconds at which an open stream gets a comment line. With every second comment line, the ' +
      'service checks again whether the caller is still allowed to read the stream.',
    default: 15_000,
    min: 15,
  })
  readonly eventStreamsHeartbeatMs!: number;

  @EnvInt('EVENT_STREAMS_LOOK_MS', {
    description:
      'Interval in milliseconds at which open event streams poll for new entries, in case a Redis notification is ' +
      'lost.',
    default: 1000,
    min: 20,
  })
  readonly eventStreamsLookMs!: number;

  @EnvChoice('STATUS_PAGE', ['public', 'signed-in', 'off'], {
    description:
      'Visibility of the status page at /status: public, signed-in (users who are signed in, and API keys) or off. The ' +
      'page shows whether the parts of the service work and how far the service level objectives are met. It contains ' +
      'no data of organizations.',
    default: 'public',
  })
  readonly statusPage!: 'public' | 'signed-in' | 'off';

  /** The organization to create at the first start; null if BOOTSTRAP_ORGANIZATION is absent. */
  get bootstrapInput(): BootstrapInput | null {
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

  override findFaults(): string[] {
    return [...super.findFaults(), ...(this.bootstrapInput ? checkBootstrapInput(this.bootstrapInput) : [])];
  }
}
