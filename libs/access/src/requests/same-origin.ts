import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';

const local = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/**
 * Throws for a change by session cookie that comes from a page of another site, because a browser sends the cookie with
 * requests from any page. Browsers report the origin of a request. A request without an origin comes from a program,
 * which has the cookie only if a person gave it to the program.
 */
export function requireSameOrigin(request: FastifyRequest, publicAppUrl: string): void {
  if (safeMethods.includes(request.method)) return;
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  const ownOrigin = origin === new URL(publicAppUrl).origin || isOriginOfHost(origin, host, publicAppUrl);
  const allowed =
    site === undefined ? origin === undefined || ownOrigin : site === 'same-origin' || site === 'none' || ownOrigin;
  if (!allowed)
    throw new AppError('permission_denied', {
      detail: 'This request was sent by a page of another site, so it was not executed. Use a page of this service.',
    });
}

/** Throws for a navigation that a page of another site started. `none` is an address that the user typed or opened. */
export function requireOwnNavigation({ headers: { 'sec-fetch-site': site } }: FastifyRequest): void {
  if (site === undefined || site === 'same-origin' || site === 'none') return;
  throw new AppError('permission_denied', { detail: 'This request comes from another site.' });
}

/**
 * Whether the origin is a page of the requested host. If the service is behind https, a page over plain http does not
 * count, because the network could have replaced it; except on this machine, which uses no network.
 */
function isOriginOfHost(origin: string | undefined, host: string | undefined, publicAppUrl: string): boolean {
  if (!origin || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  const isWeaker = page.protocol === 'http:' && publicAppUrl.startsWith('https:');
  return page.host === host && (!isWeaker || local.test(page.hostname));
}
