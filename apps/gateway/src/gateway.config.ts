import { EnvText } from '@muster/platform';
import { StorageConfig } from '@muster/storage';

/** What the first start makes, where the database has no organization yet. Afterwards these are not read. */
export class GatewayConfig extends StorageConfig {
  @EnvText('BOOTSTRAP_ORGANIZATION', { description: 'The first organization’s name.', optional: true })
  readonly bootstrapOrganization?: string;

  @EnvText('BOOTSTRAP_ADMIN_EMAIL', { description: 'Its admin.', optional: true })
  readonly bootstrapAdminEmail?: string;

  @EnvText('BOOTSTRAP_ADMIN_PASSWORD', { description: 'At least 8 characters.', optional: true, secret: true })
  readonly bootstrapAdminPassword?: string;

  @EnvText('BOOTSTRAP_SUPER_ADMIN_EMAIL', { description: 'Who works across organizations.', optional: true })
  readonly bootstrapSuperAdminEmail?: string;

  @EnvText('BOOTSTRAP_SUPER_ADMIN_PASSWORD', { description: 'At least 8 characters.', optional: true, secret: true })
  readonly bootstrapSuperAdminPassword?: string;

  @EnvText('BOOTSTRAP_API_KEY', {
    description: 'A key of scope api: msk_<id>_<secret>, its id 8 to 32 of a-z and 0-9.',
    optional: true,
    secret: true,
  })
  readonly bootstrapApiKey?: string;

  @EnvText('BOOTSTRAP_WORKER_KEY', { description: 'A key of scope worker, likewise.', optional: true, secret: true })
  readonly bootstrapWorkerKey?: string;
}
