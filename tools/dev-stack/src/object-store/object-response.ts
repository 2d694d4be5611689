import type { ObjectMetadata } from './storage/object-metadata';
import { asHeaderValue } from './wire/request';

export function objectResponseHeaders(metadata: ObjectMetadata): Record<string, string> {
  return {
    ...Object.fromEntries(metadata.headers),
    'accept-ranges': 'bytes',
    etag: `"${metadata.etag}"`,
    'last-modified': new Date(metadata.lastModified).toUTCString(),
  };
}

/** `response-content-type` and its like. Nobody gets here unsigned, so nobody but the signer chooses them. */
export function responseOverrides(query: ReadonlyMap<string, string>): Record<string, string> {
  return Object.fromEntries(
    [...query]
      .filter(([name]) => name.startsWith('response-'))
      .map(([name, value]) => [name.slice('response-'.length), asHeaderValue(name, value)]),
  );
}

const rasterTypes = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif']);

/** Objects come from anybody: what a browser would do more with than draw it, it saves. S3 itself leaves that to others. */
export function shownSafely(headers: Record<string, string>): Record<string, string> {
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
