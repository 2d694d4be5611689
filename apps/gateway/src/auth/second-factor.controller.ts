import { Body, Controller, Delete, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  anyone,
  beginEnrolment,
  beginOwnTotp,
  Browser,
  Caller,
  type CodeParts,
  confirmOwnTotp,
  Endpoint,
  finishEnrolment,
  FromBrowser,
  logInWithCode,
  ownFactor,
  Passwords,
  type Principal,
  proveAgain,
  relyingPartyOf,
  removeOwnTotp,
  SentHeader,
  sessionsOf,
  SignInConfig,
  type UserPrincipal,
} from '@muster/access';
import {
  CodeBody,
  EnrolledIdentity,
  Identity,
  OwnSecondFactor,
  RecoveryCodes,
  RemoveTotpBody,
  SecondFactorProof,
  SuccessAnswer,
  TicketBody,
  TicketCodeBody,
  TotpEnrolment,
  TotpLoginBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress, Clock } from '@muster/platform';
import { KeyRing } from '@muster/vault';
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
    this.parts = { database, attempts, keyRing, clock, relyingParty: () => relyingPartyOf(config) };
  }

  @Post('/login/totp')
  @Endpoint({
    summary: 'Sign in: the second step',
    description:
      'With the ticket of the first, and a code, a recovery code or a passkey. Five wrong ones end the ticket.',
    access: anyone,
    body: TotpLoginBody,
    answer: Identity,
    errors: ['unauthenticated', 'permission_denied'],
  })
  async login(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @SentHeader('user-agent') userAgent: string | undefined,
    @Body() body: TotpLoginBody,
  ): Promise<Identity> {
    browser.requireSameOrigin(this.config);
    const { token, principal } = await logInWithCode(this.parts, body, { address, userAgent });
    browser.keepSession(this.config, token);
    return presentIdentity(principal);
  }

  @Post('/login/enrolment')
  @Endpoint({
    summary: 'Sign in: begin to set up the second factor that the organization requires',
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
    return beginEnrolment(this.parts, { ticket, address });
  }

  @Post('/login/enrolment/confirm')
  @Endpoint({
    summary: 'Sign in: confirm the second factor with a first code',
    description: 'Answers who you are and the recovery codes, and sets the cookie muster_session.',
    access: anyone,
    body: TicketCodeBody,
    answer: EnrolledIdentity,
    errors: ['unauthenticated', 'permission_denied', 'conflict'],
  })
  async confirmAtLogin(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @SentHeader('user-agent') userAgent: string | undefined,
    @Body() body: TicketCodeBody,
  ): Promise<EnrolledIdentity> {
    browser.requireSameOrigin(this.config);
    const { token, principal, recoveryCodes } = await finishEnrolment(this.parts, body, { address, userAgent });
    browser.keepSession(this.config, token);
    return { ...presentIdentity(principal), recoveryCodes };
  }

  @Get('/totp')
  @Endpoint({
    summary: 'Read whether you have codes of an authenticator app',
    access: sessionsOf('viewer'),
    answer: OwnSecondFactor,
  })
  async read(@Caller() caller: Principal): Promise<OwnSecondFactor> {
    const { id, homeOrganizationId } = caller as UserPrincipal;
    const { since, recoveryCodesLeft, passkeys } = await ownFactor(this.database, {
      id,
      organizationId: homeOrganizationId,
    });
    return { since: since?.toISOString() ?? null, recoveryCodesLeft, passkeys };
  }

  @Post('/totp')
  @Endpoint({
    summary: 'Begin to set up codes of an authenticator app',
    description: 'It counts once it is confirmed with a code; whoever begins again has a new secret.',
    access: sessionsOf('viewer'),
    sensitive: true,
    answer: TotpEnrolment,
    errors: ['conflict'],
  })
  begin(@Caller() caller: Principal): Promise<TotpEnrolment> {
    return beginOwnTotp(this.parts, caller as UserPrincipal);
  }

  @Post('/totp/confirm')
  @Endpoint({
    summary: 'Confirm the second factor with a first code',
    description: 'Ends your other sessions, which were opened without it.',
    access: sessionsOf('viewer'),
    body: CodeBody,
    answer: RecoveryCodes,
    errors: ['conflict'],
  })
  async confirm(@Caller() caller: Principal, @Body() { code }: CodeBody): Promise<RecoveryCodes> {
    return { recoveryCodes: await confirmOwnTotp(this.parts, caller as UserPrincipal, code) };
  }

  @Delete('/totp')
  @Endpoint({
    summary: 'Remove the codes of your authenticator app',
    description:
      'Ends your other sessions, and where the organization requires a second factor and you have no passkey this one too.',
    access: sessionsOf('viewer'),
    body: RemoveTotpBody,
    status: 204,
  })
  async remove(
    @Caller() caller: Principal,
    @ClientAddress() address: string,
    @Body() body: RemoveTotpBody,
  ): Promise<void> {
    const limit = this.config.rateLimitFailedLoginsPerMinute;
    const failures = { name: 'failed-logins', limit, windowSeconds: 60 };
    const parts = { ...this.parts, passwords: this.passwords, failures };
    await removeOwnTotp(parts, caller as UserPrincipal, { ...body, address });
  }

  @Post('/step-up')
  @Endpoint({
    summary: 'Prove the second factor again',
    description: 'For 15 minutes, acts answer that otherwise answer step_up_required.',
    access: sessionsOf('viewer'),
    body: SecondFactorProof,
    answer: SuccessAnswer,
  })
  async stepUp(
    @Caller() caller: Principal,
    @ClientAddress() address: string,
    @Body() body: SecondFactorProof,
  ): Promise<SuccessAnswer> {
    await proveAgain(this.parts, caller as UserPrincipal, { ...body, address });
    return { success: true };
  }
}
