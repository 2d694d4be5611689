import type { FastifyReply, FastifyRequest } from 'fastify';

/** Lifetime of a session, whether it is used or not. */
export const sessionLifetimeMs = 12 * 3_600_000;

/**
 * Returns the name of the session cookie. A prefix of the name makes browsers reject the cookie over http or from a
 * subdomain, so the prefix is not used on plain http.
 */
function getCookieName(publicAppUrl: string, name: CookieName = 'muster_session'): string {
  return publicAppUrl.startsWith('https:') ? `__Host-${name}` : name;
}

/** `muster_sso` binds a single sign-on that is in progress to the browser that started it. */
type CookieName = 'muster_session' | 'muster_sso';

export function readSessionCookie(request: FastifyRequest, publicAppUrl: string): string | undefined {
  return readCookieValue(request, getCookieName(publicAppUrl));
}

export function readSsoCookie(request: FastifyRequest, publicAppUrl: string): string | undefined {
  return readCookieValue(request, getCookieName(publicAppUrl, 'muster_sso'));
}

function readCookieValue(request: FastifyRequest, cookie: string): string | undefined {
  const name = `${cookie}=`;
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

/**
 * Sets the cookie of a single sign-on, or clears it if `value` is null. The browser sends it with the redirect from the
 * provider, because that is a navigation (SameSite=Lax).
 */
export function setSsoCookie(
  reply: FastifyReply,
  publicAppUrl: string,
  cookie: { value: string; seconds: number } | null,
) {
  const { value, seconds } = cookie ?? { value: '', seconds: 0 };
  void reply.header(
    'set-cookie',
    `${getCookieName(publicAppUrl, 'muster_sso')}=${value}; Max-Age=${seconds}; ${getCookieAttributes(publicAppUrl)}`,
  );
}

function getCookieAttributes(publicAppUrl: string): string {
  return `Path=/; HttpOnly; SameSite=Lax${publicAppUrl.startsWith('https:') ? '; Secure' : ''}`;
}
