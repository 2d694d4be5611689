import type { FastifyReply, FastifyRequest } from 'fastify';

export const sessionLifetimeMs = 7 * 24 * 3_600_000;

/** The prefix makes browsers refuse the cookie over http or from a subdomain; over plain http it can't be set at all. */
function cookieName(publicAppUrl: string): string {
  return publicAppUrl.startsWith('https:') ? '__Host-muster_session' : 'muster_session';
}

export function readSessionCookie(request: FastifyRequest, publicAppUrl: string): string | undefined {
  return request.cookies?.[cookieName(publicAppUrl)];
}

export function setSessionCookie(reply: FastifyReply, publicAppUrl: string, token: string): void {
  void reply.setCookie(cookieName(publicAppUrl), token, {
    ...cookieOptions(publicAppUrl),
    maxAge: sessionLifetimeMs / 1000,
  });
}

export function clearSessionCookie(reply: FastifyReply, publicAppUrl: string): void {
  void reply.clearCookie(cookieName(publicAppUrl), cookieOptions(publicAppUrl));
}

function cookieOptions(publicAppUrl: string) {
  return { path: '/', httpOnly: true, sameSite: 'lax' as const, secure: publicAppUrl.startsWith('https:') };
}
