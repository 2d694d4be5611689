import type { ObjectMetadata } from './storage/object-metadata';
import { requireHeaderValue } from './wire/request';

export function buildObjectHeaders(metadata: ObjectMetadata): Record<string, string> {
  return {
    ...Object.fromEntries(metadata.headers),
    'accept-ranges': 'bytes',
    etag: `"${metadata.etag}"`,
    'last-modified': new Date(metadata.lastModified).toUTCString(),
  };
}

/**
 * Response headers from `response-*` query parameters, such as `response-content-type`. They are covered by the
 * signature, so only the signer can choose them.
 */
export function readResponseOverrides(query: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    [...query]
      .filter(([name]) => name.startsWith('response-'))
      .map(([name, value]) => [name.slice('response-'.length), requireHeaderValue(name, value)]),
  );
}

const rasterTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/**
 * Adds headers that make browsers download objects instead of interpreting them, unless they are raster images. Objects
 * come from untrusted senders. S3 itself does not do this.
 */
export function addSafeHeaders(headers: Record<string, string>): Record<string, string> {
  const type = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
  const disposition = headers['content-disposition'] ?? '';
  const safe = {
    ...headers,
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  };
  if (rasterTypes.has(type) || /^attachment(;|$)/i.test(disposition.trim())) return safe;
  const parameters = disposition.includes(';') ? disposition.slice(disposition.indexOf(';')) : '';
  return { ...safe, 'content-disposition': `attachment${parameters}` };
}
