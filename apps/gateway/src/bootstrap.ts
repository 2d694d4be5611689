import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { bootstrapFaults, bootstrapOrganization, Passwords } from '@muster/access';
import { Database, isDatabaseUnavailable } from '@muster/database';
import { toAppError } from '@muster/platform';
import { GatewayConfig } from './gateway.config';

/** Makes the first organization when the configuration names one; again and again until the database is there. */
@Injectable()
export class Bootstrap implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger(Bootstrap.name);
  private retry?: NodeJS.Timeout;

  constructor(
    @Inject(GatewayConfig) private readonly config: GatewayConfig,
    @Inject(Database) private readonly database: Database,
    @Inject(Passwords) private readonly passwords: Passwords,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const faults = this.config.bootstrapOrganization
      ? bootstrapFaults(this.input(this.config.bootstrapOrganization))
      : [];
    if (faults.length) throw new Error(faults.join('; '));
    await this.attempt();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.retry);
  }

  private async attempt(): Promise<void> {
    const organization = this.config.bootstrapOrganization;
    if (!organization) return;
    try {
      if (await bootstrapOrganization(this.database, this.passwords, this.input(organization))) {
        this.logger.log('first organization made');
      }
    } catch (error) {
      if (toAppError(error)?.status !== 503 && !isDatabaseUnavailable(error)) throw error;
      this.retry = setTimeout(() => void this.attempt(), 1000);
    }
  }

  private input(organization: string) {
    const { config } = this;
    return {
      organization,
      adminEmail: config.bootstrapAdminEmail,
      adminPassword: config.bootstrapAdminPassword,
      superAdminEmail: config.bootstrapSuperAdminEmail,
      superAdminPassword: config.bootstrapSuperAdminPassword,
      apiKey: config.bootstrapApiKey,
      workerKey: config.bootstrapWorkerKey,
    };
  }
}
