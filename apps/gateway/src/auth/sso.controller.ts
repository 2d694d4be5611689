import { Controller, Get, Inject, Logger, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  anyone,
  Browser,
  Endpoint,
  finishSsoSignIn,
  FromBrowser,
  IdentityProviders,
  Passwords,
  signInLifetimeMs,
  SignInConfig,
  type SsoParts,
  SsoRefused,
  startSsoSignIn,
} from '@muster/access';
import { AppError, SsoStartQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress, Clock } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { getRedirectUri } from './redirect-uri';

@ApiTags('Sessions')
@Controller('/api/auth/sso')
export class SsoController {
  private readonly logger = new Logger('single sign-on');
  private readonly parts: SsoParts;

  constructor(
    @Inject(Database) database: Database,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Attempts) attempts: Attempts,
    @Inject(Passwords) passwords: Passwords,
    @Inject(Clock) clock: Clock,
    @Inject(IdentityProviders) providers: IdentityProviders,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {
    const failures = { name: 'failed-logins', limit: config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
    this.parts = { database, keyRing, attempts, passwords, clock, providers, failures };
  }

  @Get('/start')
  @Endpoint({
    summary: 'Start single sign-on',
    description:
      'Redirects the browser to the OpenID Connect provider of the email domain. The response depends on the domain ' +
      'alone, not on whether the address has an account. If it fails, a browser is redirected to the sign-in page, and ' +
      'another client gets the error.',
    access: anyone,
    status: 302,
    errors: ['unauthenticated', 'permission_denied', 'not_found'],
  })
  async start(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Query() { email }: SsoStartQuery,
  ): Promise<void> {
    await this.redirectOnFailure(browser, async () => {
      browser.requireOwnNavigation();
      const redirectUri = getRedirectUri(this.config);
      const { url, browserSecret } = await startSsoSignIn(this.parts, { email, address, redirectUri });
      browser.setSsoCookie(this.config, { value: browserSecret, seconds: signInLifetimeMs / 1000 });
      browser.redirectBrowser(url);
    });
  }

  @Get('/callback')
  @Endpoint({
    summary: 'Complete single sign-on',
    description:
      'The provider redirects the browser to this address with the query parameters of OpenID Connect (`code`, ' +
      '`state`, `iss`, or `error`). Sets the cookie `muster_session` and redirects to the console. The error of a ' +
      'rejected sign-in is the same for every cause; the log of the service names the cause.',
    access: anyone,
    status: 302,
    errors: ['unauthenticated', 'permission_denied'],
  })
  async callback(@FromBrowser() browser: Browser, @ClientAddress() address: string): Promise<void> {
    await this.redirectOnFailure(browser, async () => {
      const browserSecret = browser.readSsoCookie(this.config);
      const { query } = browser;
      const session = await finishSsoSignIn(
        this.parts,
        { query, browserSecret },
        browser.describeClient(this.config, address),
      );
      browser.setSsoCookie(this.config, null);
      browser.setSessionCookie(this.config, session.token);
      browser.redirectBrowser('/app');
    });
  }

  /** Sends a browser that could not sign in to the sign-in page, because a person cannot use the JSON of an error. */
  private async redirectOnFailure(browser: Browser, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      const error = this.toPublicError(thrown);
      if (!browser.wantsPage || !(error instanceof AppError)) throw error;
      browser.redirectBrowser(`/app/login?sso=${error.code}`);
    }
  }

  private toPublicError(error: unknown): unknown {
    if (!(error instanceof SsoRefused)) return error;
    this.logger.warn(`a sign-in was rejected: ${error.message}`);
    return new AppError('unauthenticated', {
      detail: 'Single sign-on did not succeed. Start again. If it fails again, ask an admin of your organization.',
    });
  }
}
