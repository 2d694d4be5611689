import { S3Error } from '../errors';

export interface ObjectMetadata {
  key: string;
  /** The ETag without its quotes. */
  etag: string;
  lastModified: string;
  /** Response headers that are stored with the object, as they were sent: one character per byte. */
  headers: [name: string, value: string][];
}

/**
 * Truncates a time to seconds, as S3 dates have only seconds. This keeps Last-Modified, listings and conditions
 * consistent.
 */
export function formatObjectTime(now: Date): string {
  return new Date(Math.floor(now.getTime() / 1000) * 1000).toISOString();
}

export function selectStoredHeaders(headers: ReadonlyMap<string, string>): [string, string][] {
  const stored = [...headers]
    .filter(([name]) => STANDARD_HEADERS.includes(name) || name.startsWith('x-amz-meta-'))
    .filter(([, value]) => value !== '');
  const userBytes = stored
    .filter(([name]) => name.startsWith('x-amz-meta-'))
    .reduce((bytes, [name, value]) => bytes + name.length - 'x-amz-meta-'.length + value.length, 0);
  if (userBytes > MAX_USER_METADATA_BYTES) {
    throw new S3Error('MetadataTooLarge', { Size: `${userBytes}`, MaxSizeAllowed: `${MAX_USER_METADATA_BYTES}` });
  }
  return stored.some(([name]) => name === 'content-type')
    ? stored
    : [['content-type', 'binary/octet-stream'], ...stored];
}

const MAX_USER_METADATA_BYTES = 2048;
const STANDARD_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-type',
  'expires',
];
