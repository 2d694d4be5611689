import type { FastifyRequest } from 'fastify';
import { readSessionCookie } from './session-cookie';

/** The credential of a request. */
export type Credential = { key: string } | { session: string };

/** Returns the credential of a request. An API key takes precedence over a cookie. */
export function readCredential(request: FastifyRequest, publicAppUrl: string): Credential | null {
  const key = request.headers['x-api-key'];
  if (key !== undefined) return typeof key === 'string' ? { key } : null;
  const session = readSessionCookie(request, publicAppUrl);
  return session ? { session } : null;
}
