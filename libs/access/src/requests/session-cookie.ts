import type { FastifyReply, FastifyRequest } from 'fastify';

/** Lifetime of a session, whether it is used or not. */
export const sessionLifetimeMs = 12 * 3_600_000;

/**
 * Returns the name of the session cookie. A prefix of the name makes browsers reject the cookie over http or from a
 * subdomain, so the prefix is not used on plain http.
 */
function getCookieName(publicAppUrl: string): string {
  return publicAppUrl.startsWith('https:') ? '__Host-muster_session' : 'muster_session';
}

export function readSessionCookie(request: FastifyRequest, publicAppUrl: string): string | undefined {
  const name = `${getCookieName(publicAppUrl)}=`;
  const pairs = request.headers.cookie?.split(';').map((pair) => pair.trim()) ?? [];
  return pairs.find((pair) => pair.startsWith(name))?.slice(name.length);
}

/** Sets the session cookie. A token consists of letters, digits, - and _, so it needs no escaping. */
export function setSessionCookie(reply: FastifyReply, publicAppUrl: string, token: string): void {
  const maxAge = sessionLifetimeMs / 1000;
  void reply.header(
    'set-cookie',
    `${getCookieName(publicAppUrl)}=${token}; Max-Age=${maxAge}; ${getCookieAttributes(publicAppUrl)}`,
  );
}

export function clearSessionCookie(reply: FastifyReply, publicAppUrl: string): void {
  void reply.header('set-cookie', `${getCookieName(publicAppUrl)}=; Max-Age=0; ${getCookieAttributes(publicAppUrl)}`);
}

function getCookieAttributes(publicAppUrl: string): string {
  return `Path=/; HttpOnly; SameSite=Lax${publicAppUrl.startsWith('https:') ? '; Secure' : ''}`;
}
