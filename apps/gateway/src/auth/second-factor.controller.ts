import { Body, Controller, Delete, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  anyone,
  startFactorEnrolment,
  startOwnTotp,
  Browser,
  Caller,
  CallerIfAny,
  type CodeParts,
  confirmOwnTotp,
  Endpoint,
  finishFactorEnrolment,
  FromBrowser,
  logInWithCode,
  readOwnSecondFactor,
  Passwords,
  type Principal,
  proveSecondFactorAgain,
  deriveRelyingParty,
  removeOwnTotp,
  allowSessions,
  SignInConfig,
  type UserPrincipal,
  signedIn,
  signedInOrTicket,
} from '@muster/access';
import {
  AppError,
  EnrolledIdentity,
  Identity,
  OwnSecondFactor,
  RecoveryCodes,
  RemoveTotpBody,
  SecondFactorProof,
  SuccessAnswer,
  TicketBody,
  TicketCodeBody,
  TotpBeginBody,
  TotpConfirmBody,
  TotpEnrolment,
  TotpLoginBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress, Clock } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { emitBreakGlassEvent } from './emit-break-glass';
import { presentIdentity } from './present-identity';

@ApiTags('Second factor')
@Controller('/api/auth')
export class SecondFactorController {
  private readonly parts: CodeParts;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Attempts) attempts: Attempts,
    @Inject(KeyRing) keyRing: KeyRing,
    @Inject(Clock) clock: Clock,
    @Inject(Passwords) private readonly passwords: Passwords,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {
    this.parts = {
      database,
      attempts,
      keyRing,
      clock,
      relyingParty: () => deriveRelyingParty(config),
      emitBreakGlass: emitBreakGlassEvent,
    };
  }

  @Post('/login/totp')
  @Endpoint({
    summary: 'Complete a sign-in with a second factor',
    description:
      'Requires the ticket of the first step and a code, a recovery code or a passkey. After five wrong attempts, ' +
      'the ticket is no longer valid.',
    access: anyone,
    body: TotpLoginBody,
    answer: Identity,
    errors: ['unauthenticated', 'permission_denied', 'sso_required'],
  })
  async login(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: TotpLoginBody,
  ): Promise<Identity> {
    browser.requireSameOrigin(this.config);
    const { token, principal } = await logInWithCode(this.parts, body, browser.describeClient(this.config, address));
    browser.setSessionCookie(this.config, token);
    return presentIdentity(principal);
  }

  @Post('/login/enrolment')
  @Endpoint({
    summary: 'Start a required second factor at sign-in',
    description: 'Starts the setup of an authenticator app if the user must have a second factor and has none.',
    access: anyone,
    body: TicketBody,
    answer: TotpEnrolment,
    errors: ['unauthenticated', 'permission_denied', 'conflict'],
  })
  beginAtLogin(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() { ticket }: TicketBody,
  ): Promise<TotpEnrolment> {
    browser.requireSameOrigin(this.config);
    return startFactorEnrolment(this.parts, { ticket, address });
  }

  @Post('/login/enrolment/confirm')
  @Endpoint({
    summary: 'Confirm a required second factor at sign-in',
    description:
      'Requires the first code of the authenticator app. Returns the signed-in user and the recovery codes, and ' +
      'sets the cookie `muster_session`.',
    access: anyone,
    body: TicketCodeBody,
    answer: EnrolledIdentity,
    errors: ['unauthenticated', 'permission_denied', 'sso_required', 'conflict'],
  })
  async confirmAtLogin(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: TicketCodeBody,
  ): Promise<EnrolledIdentity> {
    browser.requireSameOrigin(this.config);
    const { token, principal, recoveryCodes } = await finishFactorEnrolment(
      this.parts,
      body,
      browser.describeClient(this.config, address),
    );
    browser.setSessionCookie(this.config, token);
    return { ...presentIdentity(principal), recoveryCodes };
  }

  @Get('/totp')
  @Endpoint({
    summary: 'Read your second factors',
    description:
      'Returns since when you have had an authenticator app, how many recovery codes are left, and the number of ' +
      'passkeys.',
    access: allowSessions(signedIn),
    answer: OwnSecondFactor,
  })
  async read(@Caller() caller: Principal): Promise<OwnSecondFactor> {
    const { id, homeOrganizationId } = caller as UserPrincipal;
    const { since, recoveryCodesLeft, passkeys } = await readOwnSecondFactor(this.database, {
      id,
      organizationId: homeOrganizationId,
    });
    return { since: since?.toISOString() ?? null, recoveryCodesLeft, passkeys };
  }

  @Post('/totp')
  @Endpoint({
    summary: 'Start setting up an authenticator app',
    description:
      'The app becomes a second factor when it is confirmed with a code. Starting again replaces the secret. A user ' +
      'whose sign-in requires a second factor sends the ticket instead of a session.',
    access: signedInOrTicket,
    sensitive: true,
    body: TotpBeginBody,
    answer: TotpEnrolment,
    errors: ['permission_denied', 'conflict'],
  })
  begin(
    @CallerIfAny() caller: Principal | null,
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() { ticket }: TotpBeginBody,
  ): Promise<TotpEnrolment> {
    if (ticket !== undefined) return this.beginAtLogin(browser, address, { ticket });
    return startOwnTotp(this.parts, requireUser(caller));
  }

  @Post('/totp/confirm')
  @Endpoint({
    summary: 'Confirm an authenticator app with a code',
    description:
      'Returns the recovery codes. Ends your other sessions, because they were opened without the app. With the ticket ' +
      'of a sign-in, returns the signed-in user too and sets the cookie `muster_session`.',
    access: signedInOrTicket,
    body: TotpConfirmBody,
    answer: RecoveryCodes,
    or: EnrolledIdentity,
    errors: ['permission_denied', 'sso_required', 'conflict'],
  })
  async confirm(
    @CallerIfAny() caller: Principal | null,
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() { ticket, code }: TotpConfirmBody,
  ): Promise<RecoveryCodes | EnrolledIdentity> {
    if (ticket !== undefined) return this.confirmAtLogin(browser, address, { ticket, code });
    return { recoveryCodes: await confirmOwnTotp(this.parts, requireUser(caller), code) };
  }

  @Delete('/totp')
  @Endpoint({
    summary: 'Remove your authenticator app',
    description:
      'Ends your other sessions. If you must have a second factor and have no passkey, this session ends too.',
    access: allowSessions(signedIn),
    body: RemoveTotpBody,
    status: 204,
  })
  async remove(
    @Caller() caller: Principal,
    @ClientAddress() address: string,
    @Body() body: RemoveTotpBody,
  ): Promise<void> {
    const { rateLimitFailedLoginsPerMinute: limit, hasPublicAddress } = this.config;
    const failures = { name: 'failed-logins', limit, windowSeconds: 60 };
    const parts = { ...this.parts, passwords: this.passwords, failures, hasPublicAddress };
    await removeOwnTotp(parts, caller as UserPrincipal, { ...body, address });
  }

  @Post('/step-up')
  @Endpoint({
    summary: 'Confirm your second factor again',
    description:
      'For 15 minutes after this request (STEP_UP_AFTER_MS), operations of the session do not fail with ' +
      '`step_up_required`. A browser gets a new session cookie; the previous one is accepted for 30 seconds.',
    access: allowSessions(signedIn),
    body: SecondFactorProof,
    answer: SuccessAnswer,
  })
  async stepUp(
    @Caller() caller: Principal,
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: SecondFactorProof,
  ): Promise<SuccessAnswer> {
    const renewsToken = browser.storesCookies;
    const token = await proveSecondFactorAgain(this.parts, caller as UserPrincipal, { ...body, address, renewsToken });
    if (token !== null) browser.setSessionCookie(this.config, token);
    return { success: true };
  }
}

/** Throws unless the caller is signed in. The guard admits no keys, so a caller is a person. */
function requireUser(caller: Principal | null): UserPrincipal {
  if (!caller) throw new AppError('unauthenticated', { detail: 'Sign in, or send the ticket of a sign-in.' });
  return caller as UserPrincipal;
}
