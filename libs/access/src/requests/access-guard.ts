import { type CanActivate, type ExecutionContext, Inject, Injectable, Optional } from '@nestjs/common';
import { AppError } from '@muster/contracts';
import {
  addressFor,
  BaseConfig,
  clientAddress,
  describeContext,
  rateHeaders,
  RateLimiter,
  type RatePolicy,
  type RateState,
} from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Authenticator } from '../authentication/authenticator';
import type { Principal } from '../principal';
import { credentialOf } from './credential-of';
import { CronConfig, requireCronSecret } from './cron-secret';
import { admit, requireUnsuspended } from './access-rule';
import { ENDPOINT, type EndpointOptions } from './endpoint';
import { requireSameOrigin } from './same-origin';

const principals = new WeakMap<FastifyRequest, Principal>();

/** Who is calling; only on routes that are not open to anyone. */
export function principalOf(request: FastifyRequest): Principal {
  const principal = principals.get(request);
  if (!principal) throw new AppError('unauthenticated', { detail: 'Sign in, or send an API key.' });
  return principal;
}

/** Who is calling a route for which a signature is enough; null where that is all there is. */
export function keyOf(request: FastifyRequest): Principal | null {
  return principals.get(request) ?? null;
}

/** Every route passes here: authentication, then the rate limit, then the route's own rule. */
@Injectable()
export class AccessGuard implements CanActivate {
  private readonly known: RatePolicy;
  private readonly anonymous: RatePolicy;

  constructor(
    @Inject(Authenticator) private readonly authenticator: Authenticator,
    @Inject(RateLimiter) private readonly limiter: RateLimiter,
    @Inject(BaseConfig) private readonly config: BaseConfig,
    @Optional() @Inject(CronConfig) private readonly cron?: CronConfig,
  ) {
    this.known = { name: 'default', limit: config.rateLimitPerMinute, windowSeconds: 60 };
    this.anonymous = { name: 'anonymous', limit: config.rateLimitAnonymousPerMinute, windowSeconds: 60 };
  }

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const endpoint = Reflect.getMetadata(ENDPOINT, context.getHandler()) as EndpointOptions | undefined;
    // A route that says nothing of itself is closed: forgetting to declare it must not open it.
    if (!endpoint) throw new AppError('permission_denied', { detail: 'This route is not open.' });
    if (endpoint.exempt) return true;
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const caller =
      endpoint.access === 'anyone' || endpoint.access === 'cron'
        ? null
        : this.authenticator.byCredential(credentialOf(request, addressFor(request, this.config)));
    return once(caller, (principal) => {
      // A cookie goes along with whatever page a browser shows.
      if (principal?.kind === 'user') requireSameOrigin(request, addressFor(request, this.config));
      return once(this.limit(request, principal), (state) => {
        void reply.headers(rateHeaders(state));
        if (endpoint.access === 'cron') requireCronSecret(request, this.cron?.cronSecret);
        else if (endpoint.access !== 'anyone') {
          enter(request, endpoint, principal);
          if (!endpoint.body && !endpoint.form && !endpoint.access.keys.includes('worker')) refuseBody(request);
        }
        return true;
      });
    });
  }

  private limit(request: FastifyRequest, principal: Principal | null): RateState | Promise<RateState> {
    const policy = principal ? this.known : this.anonymous;
    const subject = principal ? `${principal.kind}:${principal.id}` : `address:${clientAddress(request)}`;
    return this.limiter.takeLeased(policy, subject) ?? this.limiter.take(policy, subject);
  }
}

function enter(request: FastifyRequest, { access, unsuspended }: EndpointOptions, principal: Principal | null): void {
  const signatureIsEnough = typeof access === 'object' && access.signed && request.headers['x-api-key'] === undefined;
  if (!principal && signatureIsEnough) return;
  if (!principal) throw new AppError('unauthenticated', { detail: 'Sign in, or send a valid API key as x-api-key.' });
  admit(access, principal);
  if (unsuspended === true) requireUnsuspended(principal);
  principals.set(request, principal);
  describeContext({ organizationId: principal.organizationId });
}

/** Fields that a route does not know are refused, and one that takes no body knows none. Workers may be newer. */
function refuseBody({ method, body }: FastifyRequest): void {
  if (method === 'DELETE' || typeof body !== 'object' || body === null) return;
  const [field] = Object.keys(body);
  if (field === undefined) return;
  throw new AppError('invalid_payload', {
    detail: 'This route takes no body.',
    errors: [{ field, message: `property ${field} should not exist` }],
  });
}

/** Goes on at once with what is known at once: most requests have nothing to wait for here. */
function once<A, B>(value: A | Promise<A>, next: (value: A) => B | Promise<B>): B | Promise<B> {
  return value instanceof Promise ? value.then(next) : next(value);
}
