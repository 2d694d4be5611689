import { Body, Controller, Delete, Get, Inject, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  answerDeviceLogin,
  anyone,
  startDeviceLogin,
  Browser,
  Caller,
  devicePollSeconds,
  endDeviceLogin,
  Endpoint,
  fetchDeviceKey,
  findDeviceLogin,
  FromBrowser,
  Mutation,
  MutationRequest,
  Mutations,
  type Principal,
  allowSessions,
  SignInConfig,
  signedIn,
} from '@muster/access';
import {
  AnswerDeviceLoginBody,
  BeginDeviceLoginBody,
  DeviceCodes,
  DeviceLogin,
  DeviceLoginQuery,
  DeviceToken,
  DeviceTokenBody,
  SuccessAnswer,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { Attempts, ClientAddress, Clock, getPublicAddress } from '@muster/platform';

/** Signs in a program from a browser (RFC 8628). The program shows a code, and a signed-in person allows it. */
@ApiTags('Auth')
@Controller('/api/auth/device')
export class DeviceController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  @Post()
  @Endpoint({
    summary: 'Start a program’s sign-in from a browser',
    description:
      'Follows RFC 8628 (device authorization), with a form or JSON. A signed-in person opens `verification_uri`, ' +
      'enters the `user_code` and allows or denies the sign-in.',
    access: anyone,
    formEncoded: true,
    body: BeginDeviceLoginBody,
    answer: DeviceCodes,
    errors: ['permission_denied', 'rate_limited'],
  })
  async begin(
    @FromBrowser() browser: Browser,
    @ClientAddress() address: string,
    @Body() body: BeginDeviceLoginBody,
  ): Promise<DeviceCodes> {
    browser.requireSameOrigin(this.config);
    await this.attempts.countAttempt(this.getRatePolicy('device-logins'), [`address:${address}`]);
    const deviceName = body.device_name ?? body.client_id ?? 'A program';
    const lifetimeMs = this.config.deviceCodeMs;
    const request = { deviceName, address, now: this.clock.now(), lifetimeMs };
    const { deviceCode, userCode } = await startDeviceLogin(this.database, request);
    const uri = `${getPublicAddress(this.config)}/app/device`;
    return {
      device_code: deviceCode,
      user_code: userCode,
      verification_uri: uri,
      verification_uri_complete: `${uri}?code=${userCode}`,
      expires_in: Math.floor(lifetimeMs / 1000),
      interval: devicePollSeconds,
    };
  }

  @Post('/token')
  @Endpoint({
    summary: 'Fetch the key of an allowed program',
    description:
      'Returns 400 with `authorization_pending` until a person has answered, or with `slow_down` if the program ' +
      'polls more often than `interval`. The body is a form or JSON.',
    access: anyone,
    formEncoded: true,
    body: DeviceTokenBody,
    answer: DeviceToken,
    errors: ['authorization_pending', 'slow_down', 'access_denied', 'expired_token', 'permission_denied'],
  })
  async token(@FromBrowser() browser: Browser, @Body() { device_code }: DeviceTokenBody): Promise<DeviceToken> {
    browser.requireSameOrigin(this.config);
    const { secret, expiresAt } = await fetchDeviceKey(this.database, device_code, this.clock);
    const seconds = expiresAt ? Math.floor((expiresAt.getTime() - this.clock.now().getTime()) / 1000) : undefined;
    return { access_token: secret, token_type: 'Bearer', ...(seconds ? { expires_in: seconds } : {}) };
  }

  @Get()
  @Endpoint({
    summary: 'Get the program that requests access with a code',
    description: 'Returns the program that shows this code and waits until a person allows or denies its sign-in.',
    access: allowSessions(signedIn),
    answer: DeviceLogin,
    errors: ['invalid_payload', 'not_found', 'rate_limited'],
  })
  async read(@Caller() caller: Principal, @Query() { userCode }: DeviceLoginQuery): Promise<DeviceLogin> {
    const attempt = await this.attempts.countAttempt(this.getRatePolicy('device-codes'), [`user:${caller.id}`]);
    const found = await findDeviceLogin(this.database, userCode, this.clock.now());
    attempt.forgive();
    const { createdAt, expiresAt, ...presented } = found;
    return { ...presented, askedAt: createdAt.toISOString(), expiresAt: expiresAt.toISOString() };
  }

  @Post('/answer')
  @Endpoint({
    summary: 'Allow or deny a program’s sign-in',
    description:
      'An allowed program gets an API key with your rights, limited to those of a member. The key is valid only as ' +
      'long as your account.',
    access: allowSessions(signedIn),
    sensitive: true,
    unsuspended: true,
    body: AnswerDeviceLoginBody,
    answer: SuccessAnswer,
    errors: ['not_found', 'rate_limited'],
  })
  answer(
    @Caller() { id }: Principal,
    @Mutation() mutation: MutationRequest,
    @Body() body: AnswerDeviceLoginBody,
  ): Promise<SuccessAnswer> {
    return this.answerLogin(id, mutation, body);
  }

  @Post('/approve')
  @Endpoint({
    summary: 'Allow a program’s sign-in',
    description: 'An allowed program gets an API key with your rights, limited to those of a member.',
    access: allowSessions(signedIn),
    sensitive: true,
    unsuspended: true,
    body: DeviceLoginQuery,
    answer: SuccessAnswer,
    errors: ['not_found', 'rate_limited'],
  })
  approve(
    @Caller() { id }: Principal,
    @Mutation() mutation: MutationRequest,
    @Body() { userCode }: DeviceLoginQuery,
  ): Promise<SuccessAnswer> {
    return this.answerLogin(id, mutation, { userCode, allow: true });
  }

  @Post('/deny')
  @Endpoint({
    summary: 'Deny a program’s sign-in',
    description: 'A denied program gets no API key.',
    access: allowSessions(signedIn),
    sensitive: true,
    body: DeviceLoginQuery,
    answer: SuccessAnswer,
    errors: ['not_found', 'rate_limited'],
  })
  deny(
    @Caller() { id }: Principal,
    @Mutation() mutation: MutationRequest,
    @Body() { userCode }: DeviceLoginQuery,
  ): Promise<SuccessAnswer> {
    return this.answerLogin(id, mutation, { userCode, allow: false });
  }

  @Delete()
  @Endpoint({
    summary: 'Sign out a program',
    description:
      'Revokes the API key that the request uses. The key must be one that a program received when a person allowed ' +
      'its sign-in.',
    access: { sessions: null, keys: ['api'] },
    status: 204,
    errors: ['conflict'],
  })
  end(@Mutation() mutation: MutationRequest): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await endDeviceLogin(tx, caller);
      return { body: undefined };
    });
  }

  private async answerLogin(
    callerId: string,
    mutation: MutationRequest,
    body: AnswerDeviceLoginBody,
  ): Promise<SuccessAnswer> {
    const policy = this.getRatePolicy('device-codes');
    const attempt = await this.attempts.countAttempt(policy, [`user:${callerId}`]);
    const answered = await this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        await answerDeviceLogin(tx, caller, { ...body, now: this.clock.now() });
        return { body: { success: true } };
      },
      { scope: 'system' },
    );
    attempt.forgive();
    return answered;
  }

  private getRatePolicy(name: string) {
    return { name, limit: this.config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
  }
}
