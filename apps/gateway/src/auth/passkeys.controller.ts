import { Body, Controller, Delete, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  addPasskey,
  anyone,
  Browser,
  Caller,
  Endpoint,
  FromBrowser,
  listPasskeys,
  logInWithPasskey,
  Mutation,
  MutationRequest,
  Mutations,
  toFactorOwner,
  buildPasskeyCreationOptions,
  buildPasskeyRequestOptions,
  type PasskeyRow,
  type Principal,
  deriveRelyingParty,
  removePasskey,
  allowSessions,
  SignInConfig,
  type UserPrincipal,
  signedIn,
} from '@muster/access';
import {
  CreatePasskeyBody,
  Identity,
  PageQuery,
  Passkey,
  PasskeyCreationOptions,
  PasskeyList,
  PasskeyRequestOptions,
  PasskeySignInBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress, Clock, parsePage, buildPage } from '@muster/platform';
import { emitBreakGlassEvent } from './emit-break-glass';
import { presentIdentity } from './present-identity';

@ApiTags('Second factor')
@Controller('/api/auth/passkeys')
export class PasskeysController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List your passkeys',
    access: allowSessions(signedIn),
    answer: PasskeyList,
    errors: ['invalid_payload'],
  })
  async list(@Caller() caller: Principal, @Query() query: PageQuery): Promise<PasskeyList> {
    const page = parsePage(query, 'id');
    const rows = await listPasskeys(this.database, caller as UserPrincipal, page);
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { passkeys: items.map(presentPasskey), nextCursor };
  }

  @Post('/options')
  @Endpoint({
    summary: 'Start adding a passkey',
    description:
      'Returns the options with which the browser creates the passkey. Passkeys are valid for the host of ' +
      'PUBLIC_APP_URL, or for localhost if it is not set.',
    access: allowSessions(signedIn),
    sensitive: true,
    answer: PasskeyCreationOptions,
    errors: ['conflict'],
  })
  options(@Caller() caller: Principal): Promise<PasskeyCreationOptions> {
    return buildPasskeyCreationOptions(this.getPasskeyParts(), toFactorOwner(caller as UserPrincipal));
  }

  @Post()
  @Endpoint({
    summary: 'Add a passkey',
    description:
      'You can sign in with a passkey alone, and it is a second factor. If you had no second factor before, your ' +
      'other sessions end, because they were opened without one.',
    access: allowSessions(signedIn),
    sensitive: true,
    body: CreatePasskeyBody,
    answer: Passkey,
    status: 201,
    errors: ['conflict'],
  })
  async add(@Caller() caller: Principal, @Body() body: CreatePasskeyBody): Promise<Passkey> {
    const { sessionId } = caller as UserPrincipal;
    return presentPasskey(
      await addPasskey(this.getPasskeyParts(), { ...toFactorOwner(caller as UserPrincipal), sessionId }, body),
    );
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Remove one of your passkeys',
    description:
      'Ends your other sessions. If the passkey was your only second factor and the organization requires one, this ' +
      'session ends too.',
    access: allowSessions(signedIn),
    sensitive: true,
    status: 204,
    errors: ['invalid_payload', 'not_found'],
  })
  remove(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        await removePasskey(tx, caller as UserPrincipal, { id, hasPublicAddress: this.config.hasPublicAddress });
        return { body: undefined };
      },
      { scope: 'system' },
    );
  }

  @Post('/sign-in/options')
  @Endpoint({
    summary: 'Start signing in with a passkey',
    description:
      'Returns the options for the browser. No email address is required. Also call it before you prove a passkey ' +
      'to POST /api/auth/step-up.',
    access: anyone,
    answer: PasskeyRequestOptions,
    errors: ['permission_denied', 'conflict'],
  })
  signInOptions(@FromBrowser() browser: Browser): Promise<PasskeyRequestOptions> {
    browser.requireSameOrigin(this.config);
    return buildPasskeyRequestOptions(this.getPasskeyParts());
  }

  @Post('/sign-in')
  @Endpoint({
    summary: 'Sign in with a passkey',
    description: 'No password is required. Returns the signed-in user and sets the cookie `muster_session`.',
    access: anyone,
    body: PasskeySignInBody,
    answer: Identity,
    errors: ['unauthenticated', 'permission_denied', 'sso_required', 'conflict'],
  })
  async signIn(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: PasskeySignInBody,
  ): Promise<Identity> {
    browser.requireSameOrigin(this.config);
    const { attempts, config } = this;
    const failures = { name: 'failed-logins', limit: config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
    const parts = { ...this.getPasskeyParts(), attempts, failures, emitBreakGlass: emitBreakGlassEvent };
    const { token, principal } = await logInWithPasskey(parts, body, browser.describeClient(config, address));
    browser.setSessionCookie(config, token);
    return presentIdentity(principal);
  }

  private getPasskeyParts() {
    const { database, clock, config } = this;
    return { database, clock, relyingParty: deriveRelyingParty(config) };
  }
}

function presentPasskey({ id, name, createdAt, lastUsedAt }: PasskeyRow): Passkey {
  return { id, name, createdAt: createdAt.toISOString(), lastUsedAt: lastUsedAt?.toISOString() ?? null };
}
