import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { getAddressForRequest, type BaseConfig } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { SignInClient } from '../authentication/open-session';
import type { Principal } from '../principal';
import type { ScimClient } from '../scim/scim-tokens';
import { getApiKeyCaller, requirePrincipal, requireScimClient } from './access-guard';
import { MutationRequest } from './mutations';
import { requireOwnNavigation, requireSameOrigin } from './same-origin';
import { clearSessionCookie, readSessionCookie, readSsoCookie, setSessionCookie, setSsoCookie } from './session-cookie';

function getRequestAndReply(context: ExecutionContext): [FastifyRequest, FastifyReply] {
  const http = context.switchToHttp();
  return [http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>()];
}

/** The browser of a sign-in or sign-out: checks its origin, and sets or clears its cookies. */
export class Browser {
  constructor(
    private readonly request: FastifyRequest,
    private readonly reply: FastifyReply,
  ) {}

  requireSameOrigin(config: BaseConfig): void {
    requireSameOrigin(this.request, getAddressForRequest(this.request, config));
  }

  setSessionCookie(config: BaseConfig, token: string): void {
    setSessionCookie(this.reply, getAddressForRequest(this.request, config), token);
  }

  /** The client of a sign-in, with the session that the browser has. */
  describeClient(config: BaseConfig, address: string): SignInClient {
    const presentToken = readSessionCookie(this.request, getAddressForRequest(this.request, config));
    return { address, userAgent: this.request.headers['user-agent'], presentToken };
  }

  /** Whether the client is a browser, which stores a new cookie. Only browsers send this header. */
  get storesCookies(): boolean {
    return this.request.headers['sec-fetch-site'] !== undefined;
  }

  clearSessionCookie(config: BaseConfig): void {
    clearSessionCookie(this.reply, getAddressForRequest(this.request, config));
  }

  readSsoCookie(config: BaseConfig): string | null {
    return readSsoCookie(this.request, getAddressForRequest(this.request, config)) ?? null;
  }

  setSsoCookie(config: BaseConfig, cookie: { value: string; seconds: number } | null): void {
    setSsoCookie(this.reply, getAddressForRequest(this.request, config), cookie);
  }

  /**
   * Throws if a page of another site started the navigation. Otherwise such a page could sign the browser in to an
   * account of its own.
   */
  requireOwnNavigation(): void {
    requireOwnNavigation(this.request);
  }

  /** The query of the URL as it was sent. */
  get query(): string {
    return new URL(this.request.url, 'http://localhost').search.slice(1);
  }

  /** Whether a person opened the address, so that an error must be a page. */
  get wantsPage(): boolean {
    return this.request.headers.accept?.includes('text/html') === true;
  }

  /** Redirects the browser to a URL. */
  redirectBrowser(url: string): void {
    void this.reply.header('cache-control', 'no-store').header('location', url).status(302);
  }
}

/** The caller. Throws unauthenticated if the request was admitted without one. */
export const Caller = createParamDecorator((_: unknown, context): Principal =>
  requirePrincipal(getRequestAndReply(context)[0]),
);

/** The organization that the request is about. */
export const OrganizationId = createParamDecorator(
  (_: unknown, context) => requirePrincipal(getRequestAndReply(context)[0]).organizationId,
);

/** The identity provider that calls a SCIM route. */
export const ScimCaller = createParamDecorator((_: unknown, context): ScimClient =>
  requireScimClient(getRequestAndReply(context)[0]),
);

/** A function that sets the Location header of the response, for a route without a `Mutation`. */
export const SetLocation = createParamDecorator((_: unknown, context) => {
  const [, reply] = getRequestAndReply(context);
  return (url: string) => void reply.header('location', url);
});

/** The caller of a route that also accepts a signature or a ticket; null if the request has only that. */
export const CallerIfAny = createParamDecorator((_: unknown, context): Principal | null =>
  getApiKeyCaller(getRequestAndReply(context)[0]),
);

/** The HTTP request of a change, which only `Mutations.runMutation` reads. */
export const Mutation = createParamDecorator(
  (_: unknown, context) => new MutationRequest(...getRequestAndReply(context)),
);

/** The If-Match header. The OpenAPI document has this header for routes with the option `etag`. */
export const IfMatch = createParamDecorator(
  (_: unknown, context) => getRequestAndReply(context)[0].headers['if-match'],
);

/** A request header that the route itself adds to the OpenAPI document. */
export const SentHeader = createParamDecorator((name: string, context) => getRequestAndReply(context)[0].headers[name]);

export const FromBrowser = createParamDecorator((_: unknown, context) => new Browser(...getRequestAndReply(context)));
