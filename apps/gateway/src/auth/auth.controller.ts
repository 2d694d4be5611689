import { Body, Controller, Delete, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  anyone,
  Browser,
  Caller,
  changeOwnPassword,
  endOtherSessions,
  Endpoint,
  endSession,
  FromBrowser,
  listSessions,
  logIn,
  Mutation,
  MutationRequest,
  Mutations,
  overrideOrganization,
  Passwords,
  type Principal,
  type SessionRow,
  allowSessionsAndKeys,
  allowSessions,
  SignInConfig,
  type UserPrincipal,
  signedIn,
} from '@muster/access';
import {
  ChangePasswordBody,
  EndedSessions,
  Identity,
  IdentityOrganization,
  LoginBody,
  OrganizationOverrideBody,
  PageQuery,
  Session,
  SessionList,
  SignInNeeds,
  SuccessAnswer,
} from '@muster/contracts';
import { Database, readRecoveryState } from '@muster/database';
import { Attempts, ClientAddress, Clock, parsePage, buildPage, RecoveryHold } from '@muster/platform';
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
    @Inject(RecoveryHold) private readonly hold: RecoveryHold,
  ) {}

  @Post('/login')
  @Endpoint({
    summary: 'Sign in',
    description:
      'Returns the signed-in user and sets the cookie `muster_session`. If the user also needs a second factor, ' +
      'returns the next step and a ticket for it instead.',
    access: anyone,
    body: LoginBody,
    answer: Identity,
    or: SignInNeeds,
    errors: ['unauthenticated', 'permission_denied', 'sso_required'],
  })
  async login(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: LoginBody,
  ): Promise<Identity | SignInNeeds> {
    browser.requireSameOrigin(this.config);
    const { database, attempts, passwords, clock } = this;
    const { rateLimitFailedLoginsPerMinute: limit, hasPublicAddress } = this.config;
    const failures = { name: 'failed-logins', limit, windowSeconds: 60 };
    const client = browser.describeClient(this.config, address);
    const parts = { database, attempts, passwords, clock, failures, hasPublicAddress };
    const opened = await logIn(parts, body, client);
    if ('needs' in opened) return opened;
    browser.setSessionCookie(this.config, opened.token);
    return presentIdentity(opened.principal);
  }

  @Post('/logout')
  @Endpoint({ summary: 'Sign out', access: allowSessions(signedIn), answer: SuccessAnswer })
  logout(@Mutation() mutation: MutationRequest, @FromBrowser() browser: Browser): Promise<SuccessAnswer> {
    browser.clearSessionCookie(this.config);
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        const user = caller as UserPrincipal;
        await endSession(tx, user, user.sessionId);
        return { body: { success: true } };
      },
      { scope: 'system' },
    );
  }

  @Post('/password')
  @Endpoint({
    summary: 'Change your password',
    description:
      'Ends all your other sessions and all sign-ins that were started with the old password, and revokes the keys ' +
      'that programs received from you in the browser, such as that of `muster login`.',
    access: allowSessions(signedIn),
    body: ChangePasswordBody,
    answer: SuccessAnswer,
    errors: ['conflict'],
  })
  async changePassword(
    @Caller() caller: Principal,
    @ClientAddress() address: string,
    @Body() body: ChangePasswordBody,
  ): Promise<SuccessAnswer> {
    const { database, attempts, passwords, config } = this;
    const failures = { name: 'failed-logins', limit: config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
    await changeOwnPassword({ database, attempts, passwords, failures }, caller as UserPrincipal, { ...body, address });
    return { success: true };
  }

  @Get('/sessions')
  @Endpoint({
    summary: 'List your sessions',
    description:
      'Returns the sessions that have not ended, each with the IP address, the time and the browser with which the ' +
      'session was opened.',
    access: allowSessions(signedIn),
    answer: SessionList,
  })
  async sessions(@Caller() caller: Principal, @Query() query: PageQuery): Promise<SessionList> {
    const user = caller as UserPrincipal;
    const page = parsePage(query, 'id');
    const rows = await listSessions(this.database, user, { page, now: this.clock.now() });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { sessions: items.map((row) => presentSession(row, user.sessionId)), nextCursor };
  }

  @Delete('/sessions')
  @Endpoint({ summary: 'End all your other sessions', access: allowSessions(signedIn), answer: EndedSessions })
  endOthers(@Mutation() mutation: MutationRequest): Promise<EndedSessions> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => ({ body: { ended: await endOtherSessions(tx, caller as UserPrincipal) } }),
      { scope: 'system' },
    );
  }

  @Delete('/sessions/:id')
  @Endpoint({
    summary: 'End one of your sessions',
    access: allowSessions(signedIn),
    status: 204,
    errors: ['not_found'],
  })
  end(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        await endSession(tx, caller as UserPrincipal, id);
        return { body: undefined };
      },
      { scope: 'system' },
    );
  }

  @Get('/me')
  @Endpoint({
    summary: 'Read the signed-in user and organization',
    description: 'For an API key, the user is the key itself: its id, no email address, and its role.',
    access: allowSessionsAndKeys(signedIn),
    answer: Identity,
  })
  async me(@Caller() caller: Principal): Promise<Identity> {
    const recovery = this.hold.isHeld ? await readRecoveryState(this.database) : undefined;
    return {
      ...presentIdentity(caller),
      ...(recovery?.held ? { recoveryHold: { savedAt: recovery.savedAt.toISOString() } } : {}),
    };
  }

  @Post('/organization')
  @Endpoint({
    summary: 'Switch to another organization',
    description:
      'All further requests of the session read and change the data of that organization. Null returns to the own ' +
      'organization of the user.',
    access: allowSessions('platform.admin'),
    body: OrganizationOverrideBody,
    answer: Identity,
    errors: ['not_found'],
  })
  organization(@Mutation() mutation: MutationRequest, @Body() body: OrganizationOverrideBody): Promise<Identity> {
    return this.mutations.runMutation(
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

function presentSession(row: SessionRow, currentId: string): Session {
  return {
    id: row.id,
    current: row.id === currentId,
    createdAt: row.createdAt.toISOString(),
    lastSeenAt: row.lastSeenAt.toISOString(),
    expiresAt: row.expiresAt.toISOString(),
    idleMinutes: row.sessionIdleMinutes,
    address: row.address,
    browser: row.browser,
  };
}
