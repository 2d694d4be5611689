import { Inject, Injectable, type OnModuleInit, Optional } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AppError, invalidFieldError } from '@muster/contracts';
import {
  getAddressForRequest,
  BaseConfig,
  getClientAddress,
  Clock,
  getExactAddress,
  buildRateHeaders,
  RateLimiter,
  type RatePolicy,
  type RateState,
  runInContext,
} from '@muster/platform';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AccessLog } from '../audit/access-log';
import { Authenticator } from '../authentication/authenticator';
import type { Principal } from '../principal';
import { readCredential } from './read-credential';
import { CronConfig, requireCronSecret } from './cron-secret';
import { requireAccess, requireRecentFactor, requireUnsuspended } from './access-rule';
import type { EndpointOptions } from './endpoint';
import { type ScimClient, ScimTokens } from '../scim/scim-tokens';
import { signatureHeader } from '../signing/signature';
import { RecentWriters } from './recent-writers';
import { requireSameOrigin } from './same-origin';
import { UnverifiedBodies } from './unverified-bodies';

const principals = new WeakMap<FastifyRequest, Principal>();
const scimClients = new WeakMap<FastifyRequest, ScimClient>();

/** Returns the caller. Throws unauthenticated if the request was admitted without one. */
export function requirePrincipal(request: FastifyRequest): Principal {
  const principal = principals.get(request);
  if (!principal) throw new AppError('unauthenticated', { detail: 'Sign in, or send an API key.' });
  return principal;
}

/** Returns the identity provider that calls a SCIM route. */
export function requireScimClient(request: FastifyRequest): ScimClient {
  const client = scimClients.get(request);
  if (!client) throw new AppError('unauthenticated', { detail: 'Send a valid SCIM token as Authorization: Bearer.' });
  return client;
}

/** Returns the caller of a route that also accepts a signature or a ticket; null if the request has only that. */
export function getApiKeyCaller(request: FastifyRequest): Principal | null {
  return principals.get(request) ?? null;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Rules and responses that the route declares with the `Endpoint` decorator. */
    endpoint?: EndpointOptions;
    /** The route belongs to no controller and checks access itself. */
    guardsItself?: boolean;
  }
}

/**
 * Checks every request: authentication, then the rate limit, then the route's own rule. The checks run before the body
 * is read, so that the service does not read bodies of clients that it rejects.
 */
@Injectable()
export class AccessGuard implements OnModuleInit {
  private readonly authenticated: RatePolicy;
  private readonly anonymous: RatePolicy;
  private readonly unverifiedBodies = new UnverifiedBodies();

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(Authenticator) private readonly authenticator: Authenticator,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(AccessLog) private readonly accessLog: AccessLog,
    @Inject(ScimTokens) private readonly scimTokens: ScimTokens,
    @Inject(RecentWriters) private readonly recentWriters: RecentWriters,
    @Optional() @Inject(CronConfig) private readonly cron?: CronConfig,
  ) {
    this.authenticated = { name: 'default', limit: config.rateLimitPerMinute, windowSeconds: 60 };
    this.anonymous = { name: 'anonymous', limit: config.rateLimitAnonymousPerMinute, windowSeconds: 60 };
  }

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    fastify.addHook('onRequest', (request, reply, done) => {
      try {
        const admission = runInContext(request.context, () => this.admitRequest(request, reply));
        if (admission) admission.then(() => done(), done);
        else done();
      } catch (error) {
        done(error as Error);
      }
    });
    fastify.addHook('onResponse', (request, reply, done) => {
      if (reply.statusCode < 400 && !isStreamedRoute(request)) this.recordReadAccess(request);
      done();
    });
    fastify.addHook('preHandler', (request, _reply, done) => done(unexpectedBodyError(request)));
    if (this.config.databaseReadUrl !== undefined) this.routeReadsToReplica(fastify);
  }

  /**
   * Lets responses that may be a second old be read from the replica of the database, unless the caller has just written
   * something. A write is recorded before its response is sent.
   */
  private routeReadsToReplica(fastify: FastifyInstance): void {
    fastify.addHook('preHandler', async (request) => {
      const principal = principals.get(request);
      if (!principal || !request.routeOptions.config.endpoint?.mayLag) return;
      request.context.mayLag = !(await this.recentWriters.hasWritten(principal.id));
    });
    fastify.addHook('onSend', async (request) => {
      const principal = principals.get(request);
      if (principal && request.method !== 'GET' && request.method !== 'HEAD')
        await this.recentWriters.recordWrite(principal.id);
    });
  }

  private admitRequest(request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
    const { endpoint, guardsItself } = request.routeOptions.config;
    if (guardsItself) return;
    // A route without a declaration is closed, so that a forgotten declaration does not open the route.
    if (!endpoint) throw new AppError('permission_denied', { detail: 'This path does not exist. Check the address.' });
    const { access, exempt } = endpoint;
    if (exempt) return;
    if (access === 'scim') return this.admitScimClient(request, reply, endpoint);
    if (access === 'anyone') refuseKeyAtSignIn(request);
    const caller =
      access === 'anyone' || access === 'cron'
        ? null
        : this.authenticator.authenticateCredential(
            readCredential(request, getAddressForRequest(request, this.config)),
            getExactAddress(request),
          );
    return callWhenResolved(caller, (principal) => {
      // A browser also sends the cookie with requests from pages of other sites.
      if (principal?.kind === 'user') requireSameOrigin(request, getAddressForRequest(request, this.config));
      return callWhenResolved(this.countForRateLimit(request, principal), (state) => {
        void reply.headers(buildRateHeaders(state));
        if (access === 'cron') requireCronSecret(request, this.cron?.cronSecret);
        else if (access !== 'anyone') this.admitPrincipal(request, endpoint, principal);
        if (!principal && access !== 'cron') this.unverifiedBodies.limitBodiesOfSender(request);
        // A stream may stay open for long, so the access log records the read when the stream starts.
        if (isStreamedRoute(request)) this.recordReadAccess(request);
      });
    });
  }

  private admitPrincipal(
    request: FastifyRequest,
    { access, unsuspended, sensitive }: EndpointOptions,
    principal: Principal | null,
  ): void {
    const { headers } = request;
    // The signature covers the body, so the body is read first, up to its limit; but only if there is a signature.
    const isSigned = headers[signatureHeader] !== undefined && headers['x-api-key'] === undefined;
    if (!principal && typeof access === 'object' && ((isSigned && access.signed) || access.ticket)) return;
    if (!principal) throw new AppError('unauthenticated', { detail: 'Sign in, or send a valid API key as x-api-key.' });
    requireAccess(access, principal);
    if (sensitive) requireRecentFactor(principal, { now: this.clock.now(), stepUpAfterMs: this.config.stepUpAfterMs });
    if (unsuspended === true) requireUnsuspended(principal);
    principals.set(request, principal);
    request.context.organizationId = principal.organizationId;
  }

  private async admitScimClient(
    request: FastifyRequest,
    reply: FastifyReply,
    { unsuspended }: EndpointOptions,
  ): Promise<void> {
    const client = await this.scimTokens.authenticateScimToken(request.headers.authorization);
    const policy = client ? this.authenticated : this.anonymous;
    const subject = client ? `scim:${client.organizationId}` : `address:${getClientAddress(request)}`;
    void reply.headers(buildRateHeaders(await this.limiter.countRequest(policy, subject)));
    if (!client) throw new AppError('unauthenticated', { detail: 'Send a valid SCIM token as Authorization: Bearer.' });
    if (unsuspended === true) requireUnsuspended(client);
    scimClients.set(request, client);
    request.context.organizationId = client.organizationId;
  }

  private recordReadAccess(request: FastifyRequest): void {
    const { endpoint, url = '' } = request.routeOptions.config;
    const principal = principals.get(request);
    if (!endpoint?.reads || !principal || request.method === 'HEAD') return;
    const { jobId, commandId } = request.query as Record<string, string | undefined>;
    const id = jobId ?? commandId ?? Object.values(request.params as Record<string, string>).at(-1) ?? '';
    this.accessLog.recordRead({
      principal,
      address: getClientAddress(request),
      route: `${request.method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`,
      subject: { type: endpoint.reads, id: id.slice(0, 200) },
    });
  }

  private countForRateLimit(request: FastifyRequest, principal: Principal | null): RateState | Promise<RateState> {
    const policy = principal ? this.authenticated : this.anonymous;
    const subject = principal ? `${principal.kind}:${principal.id}` : `address:${getClientAddress(request)}`;
    return this.limiter.countLeasedRequest(policy, subject) ?? this.limiter.countRequest(policy, subject);
  }
}

/** Throws if a sign-in is requested with an API key: only people sign in. */
function refuseKeyAtSignIn({ headers, routeOptions }: FastifyRequest): void {
  if (headers['x-api-key'] === undefined || !routeOptions.url?.startsWith('/api/auth/')) return;
  throw new AppError('permission_denied', {
    detail: 'This operation signs a person in. Send the request without an API key.',
  });
}

/** Whether the response bypasses the framework, which then does not notice its end. */
function isStreamedRoute({ routeOptions }: FastifyRequest): boolean {
  const { stream, csv, zip } = routeOptions.config.endpoint ?? {};
  return stream !== undefined || csv === true || zip === true;
}

/**
 * Returns an error if a route that declares no body gets fields, as unknown fields are rejected elsewhere. Routes of
 * workers ignore them, because a worker may be newer than the service.
 */
function unexpectedBodyError({ method, body, routeOptions }: FastifyRequest): AppError | undefined {
  const { endpoint } = routeOptions.config;
  if (!endpoint || endpoint.body || endpoint.form || typeof endpoint.access === 'string') return undefined;
  if (endpoint.access.keys.includes('worker') || method === 'DELETE') return undefined;
  if (typeof body !== 'object' || body === null) return undefined;
  for (const field in body) {
    return invalidFieldError(
      field.slice(0, 200),
      `property ${field.slice(0, 200)} should not exist`,
      'This operation accepts no body. Send the request without one.',
    );
  }
  return undefined;
}

/** Calls `next` at once if the value is not a promise, because most requests have nothing to wait for. */
function callWhenResolved<A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> {
  return value instanceof Promise ? value.then(next) : next(value);
}
