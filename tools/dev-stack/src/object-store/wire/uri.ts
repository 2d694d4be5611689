import { assertBucketName } from '../storage/bucket-name';
import { S3Error } from '../errors';

export interface RequestTarget {
  rawPath: string;
  bucket?: string;
  key?: string;
  query: readonly (readonly [name: string, value: string])[];
}

/**
 * Parses the request target by hand. A URL parser would resolve dot segments and merge escapes, so the used bytes would
 * differ from the signed ones. The bucket ends at the first literal slash; everything after it is the key.
 */
export function parseRequestTarget(target: string): RequestTarget {
  if (!/^\/[\x21-\x7e]*$/.test(target) || target.includes('#')) throw new S3Error('InvalidURI', { URI: target });
  const [rawPath = '/', rawQuery = ''] = splitAtFirst(target, '?');
  const [rawBucket = '', rawKey = ''] = splitAtFirst(rawPath.slice(1), '/');
  const key = decodePercent(rawKey);
  if (Buffer.byteLength(key) > MAX_KEY_BYTES) {
    throw new S3Error('KeyTooLongError', { Size: `${Buffer.byteLength(key)}`, MaxSizeAllowed: `${MAX_KEY_BYTES}` });
  }
  return {
    rawPath,
    bucket: decodePercent(rawBucket) || undefined,
    key: key || undefined,
    query: parseQuery(rawQuery),
  };
}

/** Parses x-amz-copy-source: `/bucket/key` or `bucket/key`, percent-encoded. */
export function parseCopySource(source: string): { bucket: string; key: string } {
  const { bucket, key, query } = parseRequestTarget(source.startsWith('/') ? source : `/${source}`);
  if (query.length > 0) throw new S3Error('NotImplemented', { Header: 'x-amz-copy-source', message: NO_VERSIONS });
  if (!bucket || !key) {
    throw new S3Error('InvalidArgument', {
      message: 'Copy Source must mention the source bucket and key: sourcebucket/sourcekey',
      ArgumentName: 'x-amz-copy-source',
    });
  }
  assertBucketName(bucket);
  return { bucket, key };
}

const MAX_KEY_BYTES = 1024;
const NO_VERSIONS = 'Versions of objects are not implemented.';

function parseQuery(rawQuery: string): (readonly [string, string])[] {
  return rawQuery
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', value = ''] = splitAtFirst(pair, '=');
      return [decodePercent(name.replaceAll('+', ' ')), decodePercent(value.replaceAll('+', ' '))] as const;
    });
}

function splitAtFirst(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function decodePercent(text: string): string {
  if (/%(?![0-9a-f]{2})/i.test(text)) throw new S3Error('InvalidURI', { URI: text });
  const bytes = text.replace(/%(..)/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  try {
    // Without ignoreBOM, two keys that differ only in a leading U+FEFF would be the same object.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(bytes, 'latin1'));
  } catch {
    throw new S3Error('InvalidURI', { URI: text });
  }
}
