import type { FastifyRequest } from 'fastify';
import { readSessionCookie } from './session-cookie';

/** What a request shows of who calls. */
export type Credential = { key: string } | { session: string };

/** A key that is sent counts, even when a cookie comes along. */
export function credentialOf(request: FastifyRequest, publicAppUrl: string): Credential | null {
  const key = request.headers['x-api-key'];
  if (key !== undefined) return typeof key === 'string' ? { key } : null;
  const session = readSessionCookie(request, publicAppUrl);
  return session ? { session } : null;
}
