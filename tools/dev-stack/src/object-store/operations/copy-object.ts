import { BodyDigest, updateDigestWhileReading } from '../wire/body-digest';
import { assertMayCopy, assertMayWrite, readWriteCondition } from '../conditions';
import { S3Error } from '../errors';
import { getBucketOfCall, getKeyOfCall, type Call } from '../operation';
import { formatObjectTime, selectStoredHeaders } from '../storage/object-metadata';
import { sendXml } from '../wire/respond';
import { readBytes, stageFile } from '../storage/stored-file';
import { parseCopySource } from '../wire/uri';

export async function copyObject(call: Call): Promise<void> {
  const { request, response, store, now } = call;
  const bucket = getBucketOfCall(call);
  const key = getKeyOfCall(call);
  const from = parseCopySource(request.headers.get('x-amz-copy-source') ?? '');
  const replaces = readDirective(request.headers.get('x-amz-metadata-directive'));
  if (!replaces && from.bucket === bucket.name && from.key === key) {
    throw new S3Error('InvalidRequest', {
      message:
        "This copy request is illegal because it is trying to copy an object to itself without changing the object's metadata.",
    });
  }
  const condition = readWriteCondition(request.headers);
  assertMayWrite(condition, bucket.index.getEntry(key));
  const source = await store.getBucket(from.bucket).open(from.key);
  try {
    assertMayCopy(request.headers, source.metadata);
    const digest = new BodyDigest();
    const headers = replaces ? selectStoredHeaders(request.headers) : source.metadata.headers;
    const staged = await stageFile({
      directory: store.tempDirectory,
      chunks: updateDigestWhileReading(readBytes(source, { start: 0, end: source.size - 1 }), digest),
      describe: () => ({
        key,
        etag: digest.finish().md5.toString('hex'),
        lastModified: formatObjectTime(now()),
        headers,
      }),
    });
    bucket.putFile(staged, condition);
    await bucket.flush();
    const { lastModified, etag } = staged.metadata;
    sendXml(response, [
      'CopyObjectResult',
      [
        ['LastModified', lastModified],
        ['ETag', `"${etag}"`],
      ],
    ]);
  } finally {
    await source.handle.close();
  }
}

function readDirective(directive = 'COPY'): boolean {
  if (directive !== 'COPY' && directive !== 'REPLACE') {
    throw new S3Error('InvalidArgument', { message: 'Unknown metadata directive.', ArgumentValue: directive });
  }
  return directive === 'REPLACE';
}
