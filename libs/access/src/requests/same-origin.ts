import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/**
 * A cookie goes along with whatever page a browser shows, so a change by cookie must come from our own pages. Browsers
 * say where a request comes from; a program that says nothing has no cookie that it was not given on purpose.
 */
export function requireSameOrigin(request: FastifyRequest, publicAppUrl: string): void {
  if (safeMethods.includes(request.method)) return;
  const { 'sec-fetch-site': site, origin, host } = request.headers;
  const ownOrigin = origin === new URL(publicAppUrl).origin || hostOf(origin) === host;
  const allowed =
    site === undefined ? origin === undefined || ownOrigin : site === 'same-origin' || site === 'none' || ownOrigin;
  if (!allowed) throw new AppError('permission_denied', { detail: 'This request comes from another site.' });
}

function hostOf(origin: string | undefined): string | undefined {
  return origin && URL.canParse(origin) ? new URL(origin).host : undefined;
}
