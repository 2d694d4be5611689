import { Body, Controller, Get, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  anyone,
  clearSessionCookie,
  Endpoint,
  logIn,
  logOut,
  Mutations,
  overrideOrganization,
  Passwords,
  principalOf,
  requireSameOrigin,
  sessionsAndKeysOf,
  sessionsOf,
  setSessionCookie,
  SignInConfig,
  type UserPrincipal,
} from '@muster/access';
import { Identity, IdentityOrganization, LoginBody, OrganizationOverrideBody, SuccessAnswer } from '@muster/contracts';
import { Database } from '@muster/database';
import { addressFor, Attempts, clientAddress, Clock } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
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
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: LoginBody,
  ): Promise<Identity> {
    requireSameOrigin(request, addressFor(request, this.config));
    const { database, attempts, passwords, clock } = this;
    const limit = this.config.rateLimitFailedLoginsPerMinute;
    const failures = { name: 'failed-logins', limit, windowSeconds: 60 };
    const address = clientAddress(request);
    const { token, principal } = await logIn({ database, attempts, passwords, clock, failures }, body, address);
    setSessionCookie(reply, addressFor(request, this.config), token);
    return presentIdentity(principal);
  }

  @Post('/logout')
  @Endpoint({ summary: 'Sign out', access: sessionsOf('viewer'), answer: SuccessAnswer })
  logout(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<unknown> {
    clearSessionCookie(reply, addressFor(request, this.config));
    return this.mutations.run(
      request,
      reply,
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
  me(@Req() request: FastifyRequest): Identity {
    return presentIdentity(principalOf(request));
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
  organization(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: OrganizationOverrideBody,
  ): Promise<unknown> {
    return this.mutations.run(
      request,
      reply,
      async (tx, caller) => {
        const user = caller as UserPrincipal;
        const organization: IdentityOrganization = await overrideOrganization(tx, user, body.organizationId);
        return { body: { ...presentIdentity(user), organization } };
      },
      { scope: 'system' },
    );
  }
}
