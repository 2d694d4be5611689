import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { bootstrapOrganization, Passwords } from '@muster/access';
import { Database, isDatabaseUnavailable } from '@muster/database';
import { toAppError } from '@muster/platform';
import { GatewayConfig } from './gateway.config';

/** Creates the first organization if the configuration names one. Retries until the database is available. */
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
    await this.attemptBootstrap();
  }

  onApplicationShutdown(): void {
    clearTimeout(this.retry);
  }

  private async attemptBootstrap(): Promise<void> {
    const { bootstrapInput: bootstrap } = this.config;
    if (!bootstrap) return;
    try {
      if (await bootstrapOrganization(this.database, this.passwords, bootstrap)) {
        this.logger.log('created the first organization');
      }
    } catch (error) {
      if (toAppError(error)?.status !== 503 && !isDatabaseUnavailable(error)) throw error;
      this.retry = setTimeout(() => void this.attemptBootstrap(), 1000);
    }
  }
}
