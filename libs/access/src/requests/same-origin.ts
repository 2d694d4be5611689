import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';

const local = /^(localhost|127(\.\d+){3}|\[::1\])$/;
const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/**
 * A cookie goes along with whatever page a browser shows, so a change by cookie must come from our own pages. Browsers
 * say where a request comes from; a program that says nothing has no cookie that it was not given on purpose.
 */
export function requireSameOrigin(request: FastifyRequest, publicAppUrl: string): void {
  if (safeMethods.includes(request.method)) return;
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  const ownOrigin = origin === new URL(publicAppUrl).origin || isOfHost(origin, host, publicAppUrl);
  const allowed =
    site === undefined ? origin === undefined || ownOrigin : site === 'same-origin' || site === 'none' || ownOrigin;
  if (!allowed) throw new AppError('permission_denied', { detail: 'This request comes from another site.' });
}

/**
 * A page of the host that was asked. One that came over plain http, where we are behind https, may be anybody's on the
 * way; on this machine nobody is on the way.
 */
function isOfHost(origin: string | undefined, host: string | undefined, publicAppUrl: string): boolean {
  if (!origin || !URL.canParse(origin)) return false;
  const page = new URL(origin);
  const isWeaker = page.protocol === 'http:' && publicAppUrl.startsWith('https:');
  return page.host === host && (!isWeaker || local.test(page.hostname));
}
