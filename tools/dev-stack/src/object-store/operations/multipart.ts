import { parseChecksumAlgorithm, type Checksum, type ChecksumAlgorithm } from '../wire/checksums';
import { S3Error } from '../errors';
import { callBucket, callKey, type Call } from '../operation';
import { storedHeaders } from '../storage/object-metadata';
import { sendEmpty, sendXml } from '../wire/respond';
import type { Upload } from '../storage/uploads';
import type { XmlNode } from '../wire/xml';

export async function createUpload(call: Call): Promise<void> {
  const { request, response, store } = call;
  const [bucket, key] = [callBucket(call).name, callKey(call)];
  const checksum = readChecksumPlan(request.headers);
  const upload = await store.uploads.create({ bucket, key, headers: storedHeaders(request.headers), checksum });
  if (checksum) {
    response.setHeader('x-amz-checksum-algorithm', checksum.algorithm);
    response.setHeader('x-amz-checksum-type', checksum.type);
  }
  sendXml(response, [
    'InitiateMultipartUploadResult',
    [
      ['Bucket', bucket],
      ['Key', key],
      ['UploadId', upload.id],
    ],
  ]);
}

export async function abortUpload(call: Call): Promise<void> {
  await call.store.uploads.remove(await findUpload(call));
  sendEmpty(call.response, 204);
}

export async function listParts(call: Call): Promise<void> {
  const upload = await findUpload(call);
  const { query } = call.request;
  const maxParts = Math.min(readWholeNumber(query, 'max-parts') ?? MAX_PARTS_LISTED, MAX_PARTS_LISTED);
  const marker = readWholeNumber(query, 'part-number-marker') ?? 0;
  const rest = (await call.store.uploads.listParts(upload)).filter((part) => part.number > marker);
  const parts = rest.slice(0, maxParts);
  sendXml(call.response, [
    'ListPartsResult',
    [
      ['Bucket', upload.bucket],
      ['Key', upload.key],
      ['UploadId', upload.id],
      ['PartNumberMarker', marker],
      ['NextPartNumberMarker', parts.at(-1)?.number ?? 0],
      ['MaxParts', maxParts],
      ['IsTruncated', rest.length > parts.length],
      upload.checksum && ['ChecksumAlgorithm', upload.checksum.algorithm],
      upload.checksum && ['ChecksumType', upload.checksum.type],
      ...parts.map(({ number, lastModified, etag, size, checksum }): XmlNode => [
        'Part',
        [
          ['PartNumber', number],
          ['LastModified', lastModified],
          ['ETag', `"${etag}"`],
          ['Size', size],
          checksum && [`Checksum${checksum.algorithm}`, checksum.value],
        ],
      ]),
    ],
  ]);
}

export function findUpload(call: Call): Promise<Upload> {
  const id = call.request.query.get('uploadId') ?? '';
  return call.store.uploads.find({ id, bucket: callBucket(call).name, key: callKey(call) });
}

const MAX_PARTS_LISTED = 1000;

function readChecksumPlan(headers: ReadonlyMap<string, string>): Upload['checksum'] {
  const [name, type] = [headers.get('x-amz-checksum-algorithm'), headers.get('x-amz-checksum-type')];
  if (name === undefined) {
    if (type === undefined) return undefined;
    throw new S3Error('InvalidRequest', { message: 'x-amz-checksum-type needs x-amz-checksum-algorithm.' });
  }
  const algorithm = parseChecksumAlgorithm(name);
  const possible = possibleTypes(algorithm);
  const chosen = type === undefined ? possible[0] : possible.find((each) => each === type);
  if (!chosen) {
    throw new S3Error('InvalidRequest', {
      message: `The ${type} checksum type cannot be used with the ${algorithm} checksum algorithm.`,
    });
  }
  return { algorithm, type: chosen };
}

/** The default first. A CRC of the whole can be had from its parts, a SHA cannot; S3 wants CRC64NVME only whole. */
function possibleTypes(algorithm: ChecksumAlgorithm): Checksum['type'][] {
  if (algorithm === 'CRC64NVME') return ['FULL_OBJECT'];
  return algorithm.startsWith('SHA') ? ['COMPOSITE'] : ['COMPOSITE', 'FULL_OBJECT'];
}

function readWholeNumber(query: ReadonlyMap<string, string>, name: string): number | undefined {
  const text = query.get(name);
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new S3Error('InvalidArgument', { ArgumentName: name, ArgumentValue: text });
  return Number(text);
}
