import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common';
import { createResetLink, Passwords, SignInConfig } from '@muster/access';
import { Database } from '@muster/database';
import { Attempts } from '@muster/platform';
import { KeyRing } from '@muster/vault';

/** Creates the links that replace forgotten passwords, while the requests for them are answered at once. */
@Injectable()
export class ResetRequests implements BeforeApplicationShutdown {
  private readonly logger = new Logger('forgotten passwords');
  private readonly working = new Set<Promise<void>>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Passwords) private readonly passwords: Passwords,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  /** Starts to create the link. Does not wait, or the response time would reveal whether the account exists. */
  startLinkCreation(email: string): void {
    const work: Promise<void> = this.createLink(email)
      .catch((error: unknown) => this.logger.warn('could not create a link for a forgotten password', { err: error }))
      .finally(() => this.working.delete(work));
    this.working.add(work);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.working);
  }

  private async createLink(email: string): Promise<void> {
    const { database, keyRing, attempts } = this;
    const parts = { database, keyRing, attempts, lifetimeMs: this.config.resetLinkMs };
    await this.passwords.runAccountLookup(() => createResetLink(parts, email));
  }
}
