import { Body, Controller, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  anyone,
  Browser,
  Caller,
  Endpoint,
  FromBrowser,
  logIn,
  logOut,
  Mutation,
  MutationRequest,
  Mutations,
  overrideOrganization,
  Passwords,
  type Principal,
  sessionsAndKeysOf,
  sessionsOf,
  SignInConfig,
  type UserPrincipal,
} from '@muster/access';
import { Identity, IdentityOrganization, LoginBody, OrganizationOverrideBody, SuccessAnswer } from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress, Clock } from '@muster/platform';
import { presentIdentity } from './present-identity';

@ApiTags('Sessions')
@Controller('/api/auth')
export class AuthController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(Passwords) private readonly passwords: Passwords,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  @Post('/login')
  @Endpoint({
    summary: 'Sign in',
    description: 'Answers who you are and sets the cookie muster_session.',
    access: anyone,
    body: LoginBody,
    answer: Identity,
    errors: ['unauthenticated', 'permission_denied'],
  })
  async login(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: LoginBody,
  ): Promise<Identity> {
    browser.requireSameOrigin(this.config);
    const { database, attempts, passwords, clock } = this;
    const limit = this.config.rateLimitFailedLoginsPerMinute;
    const failures = { name: 'failed-logins', limit, windowSeconds: 60 };
    const { token, principal } = await logIn({ database, attempts, passwords, clock, failures }, body, address);
    browser.keepSession(this.config, token);
    return presentIdentity(principal);
  }

  @Post('/logout')
  @Endpoint({ summary: 'Sign out', access: sessionsOf('viewer'), answer: SuccessAnswer })
  logout(@Mutation() mutation: MutationRequest, @FromBrowser() browser: Browser): Promise<SuccessAnswer> {
    browser.forgetSession(this.config);
    return this.mutations.run(
      mutation,
      async (tx, caller) => {
        await logOut(tx, caller as UserPrincipal);
        return { body: { success: true } };
      },
      { scope: 'system' },
    );
  }

  @Get('/me')
  @Endpoint({
    summary: 'Who is calling',
    description: 'For a key, the user is the key itself: its id, no email address, a member’s rights.',
    access: sessionsAndKeysOf('viewer'),
    answer: Identity,
  })
  me(@Caller() caller: Principal): Identity {
    return presentIdentity(caller);
  }

  @Post('/organization')
  @Endpoint({
    summary: 'Look at another organization',
    description: 'For the rest of the session every request is about that organization; null returns to the own one.',
    access: sessionsOf('super_admin'),
    body: OrganizationOverrideBody,
    answer: Identity,
    errors: ['not_found'],
  })
  organization(@Mutation() mutation: MutationRequest, @Body() body: OrganizationOverrideBody): Promise<Identity> {
    return this.mutations.run(
      mutation,
      async (tx, caller) => {
        const user = caller as UserPrincipal;
        const organization: IdentityOrganization = await overrideOrganization(tx, user, body.organizationId);
        return { body: presentIdentity(user, organization) };
      },
      { scope: 'system' },
    );
  }
}
