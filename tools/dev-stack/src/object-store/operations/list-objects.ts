import { S3Error } from '../errors';
import { decodePosition, encodePosition, buildListPage, type ListPosition } from '../listing';
import { getBucketOfCall, type Call } from '../operation';
import { sendXml } from '../wire/respond';
import type { XmlNode } from '../wire/xml';

export async function listObjects(call: Call): Promise<void> {
  const { query } = call.request;
  const bucket = getBucketOfCall(call);
  if (query.get('list-type') !== '2') throw new S3Error('NotImplemented', { Parameter: 'list-type' });
  const { prefix = '', delimiter = '' } = { prefix: query.get('prefix'), delimiter: query.get('delimiter') };
  const encode = chooseKeyEncoder(query.get('encoding-type'));
  const maxKeys = readMaxKeys(query.get('max-keys'));
  const page = buildListPage(bucket.index, { prefix, delimiter, maxKeys, after: readStartPosition(query) });
  const echoParameter = (name: string, parameter: string, encoded = true): XmlNode | undefined => {
    const value = query.get(parameter);
    return value ? [name, encoded ? encode(value) : value] : undefined;
  };
  sendXml(call.response, [
    'ListBucketResult',
    [
      ['Name', bucket.name],
      ['Prefix', encode(prefix)],
      echoParameter('Delimiter', 'delimiter'),
      echoParameter('StartAfter', 'start-after'),
      echoParameter('ContinuationToken', 'continuation-token', false),
      page.next && ['NextContinuationToken', encodePosition(page.next)],
      ['KeyCount', page.contents.length + page.commonPrefixes.length],
      ['MaxKeys', maxKeys],
      echoParameter('EncodingType', 'encoding-type', false),
      ['IsTruncated', page.next !== undefined],
      ...page.contents.map(({ key, lastModified, etag, size }): XmlNode => [
        'Contents',
        [
          ['Key', encode(key)],
          ['LastModified', lastModified],
          ['ETag', `"${etag}"`],
          ['Size', size],
          ['StorageClass', 'STANDARD'],
        ],
      ]),
      ...page.commonPrefixes.map((common): XmlNode => ['CommonPrefixes', [['Prefix', encode(common)]]]),
    ],
  ]);
}

const MAX_KEYS = 1000;

function readMaxKeys(text: string | undefined): number {
  if (text === undefined || text === '') return MAX_KEYS;
  if (!/^\d{1,10}$/.test(text)) {
    throw new S3Error('InvalidArgument', { message: 'Provided max-keys not an integer or within integer range' });
  }
  return Math.min(Number(text), MAX_KEYS);
}

/** A continuation token takes precedence over start-after, which only determines the start of the first page. */
function readStartPosition(query: ReadonlyMap<string, string>): ListPosition | undefined {
  const token = query.get('continuation-token');
  if (token !== undefined) return decodePosition(token);
  const startAfter = query.get('start-after');
  return startAfter ? { kind: 'key', value: startAfter } : undefined;
}

function chooseKeyEncoder(encodingType: string | undefined): (text: string) => string {
  if (encodingType === undefined || encodingType === '') return (text) => text;
  if (encodingType !== 'url') {
    throw new S3Error('InvalidArgument', {
      message: 'Invalid Encoding Method specified in Request',
      ArgumentName: 'encoding-type',
    });
  }
  // S3 encodes like an HTML form, except for slashes.
  return (text) => new URLSearchParams([[text, '']]).toString().slice(0, -1).replaceAll('%2F', '/');
}
