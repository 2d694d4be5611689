import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { addressFor, type BaseConfig } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../principal';
import { keyOf, principalOf } from './access-guard';
import { MutationRequest } from './mutations';
import { requireSameOrigin } from './same-origin';
import { clearSessionCookie, setSessionCookie } from './session-cookie';

function parts(context: ExecutionContext): [FastifyRequest, FastifyReply] {
  const http = context.switchToHttp();
  return [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
}

/** The browser that signs in or out: the origin that it comes from, and the cookie that it keeps. */
export class Browser {
  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {}

  requireSameOrigin(config: BaseConfig): void {
    requireSameOrigin(this.request, addressFor(this.request, config));
  }

  keepSession(config: BaseConfig, token: string): void {
    setSessionCookie(this.reply, addressFor(this.request, config), token);
  }

  forgetSession(config: BaseConfig): void {
    clearSessionCookie(this.reply, addressFor(this.request, config));
  }
}

/** Who is calling; only on routes that are not open to anyone. */
export const Caller = createParamDecorator((_: unknown, context): Principal => principalOf(parts(context)[0]));

/** The organization that the request is about. */
export const OrganizationId = createParamDecorator(
  (_: unknown, context) => principalOf(parts(context)[0]).organizationId,
);

/** Who is calling a route for which a signature is enough; null where that is all there is. */
export const CallerIfAny = createParamDecorator((_: unknown, context): Principal | null => keyOf(parts(context)[0]));

/** What `Mutations.run` needs to know of the request. */
export const Mutation = createParamDecorator((_: unknown, context) => new MutationRequest(...parts(context)));

/** The revision that a change was made against, of a route with an `etag`: the document names the header there. */
export const IfMatch = createParamDecorator((_: unknown, context) => parts(context)[0].headers['if-match']);

/** A header that the route documents by itself, in its own words. */
export const SentHeader = createParamDecorator((name: string, context) => parts(context)[0].headers[name]);

export const FromBrowser = createParamDecorator((_: unknown, context) => new Browser(...parts(context)));
