import { AppError } from '@muster/contracts';
import type { FastifyRequest } from 'fastify';

const deprecatedAt = Date.UTC(2026, 0, 1) / 1000;
const sunset = new Date(Date.UTC(2027, 11, 31)).toUTCString();

/** Returns the headers for a deprecated call: its date (RFC 9745), the date of removal (RFC 8594) and the successor. */
export function buildDeprecationHeaders(packId: string): Record<string, string> {
  return {
    deprecation: `@${deprecatedAt}`,
    sunset,
    link: `</api/workflow-packs/${encodeURIComponent(packId)}/publish-from-vm/upload>; rel="successor-version"`,
  };
}

/** Adds the deprecation headers to an error, and the parser's message and the body's length if the body is not JSON. */
export function toLegacyError(error: AppError | undefined, request: FastifyRequest): AppError | undefined {
  if (!error) return undefined;
  const { id = '' } = (request.params ?? {}) as { id?: string };
  const isUnread = error.code === 'invalid_payload' && (request.body === undefined || request.body === null);
  const contentLength = Number(request.headers['content-length'] ?? 0);
  return new AppError(error.code, {
    ...error.options,
    headers: { ...error.options.headers, ...buildDeprecationHeaders(id) },
    extra: { ...error.options.extra, ...(isUnread ? { parseError: error.message, contentLength } : {}) },
  });
}
