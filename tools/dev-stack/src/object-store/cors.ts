import type { IncomingMessage, ServerResponse } from 'node:http';
import { S3Error } from './errors';

/** Sets the CORS headers before anything can fail, so that a browser can also read error responses. */
export function applyCors(incoming: IncomingMessage, response: ServerResponse, origins: readonly string[]): void {
  if (origins.length === 0) return;
  response.setHeader('vary', 'Origin, Access-Control-Request-Headers, Access-Control-Request-Method');
  const { origin } = incoming.headers;
  if (origin === undefined || !origins.includes(origin)) return;
  response.setHeader('access-control-allow-origin', origin);
  response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
}

/**
 * Answers a preflight. It carries no signature, so the response describes only the allowed methods and nothing about an
 * object.
 */
export function answerPreflight(incoming: IncomingMessage, response: ServerResponse, origins: readonly string[]): void {
  const { origin } = incoming.headers;
  const method = incoming.headers['access-control-request-method'];
  if (origin === undefined || !origins.includes(origin) || !METHODS.includes(method ?? '')) {
    throw new S3Error('AccessForbidden', { Method: method });
  }
  const requestedHeaders = incoming.headers['access-control-request-headers'];
  response.writeHead(200, {
    'access-control-allow-methods': METHODS.join(', '),
    'access-control-max-age': '3000',
    ...(requestedHeaders === undefined ? {} : { 'access-control-allow-headers': requestedHeaders }),
    'content-length': 0,
  });
  response.end();
}

const METHODS = ['GET', 'PUT', 'HEAD'];
const EXPOSED_HEADERS = ['etag', 'content-length', 'content-range', 'last-modified', 'x-amz-request-id'].join(', ');
