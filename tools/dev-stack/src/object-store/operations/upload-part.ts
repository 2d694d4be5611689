import { promisedChecksum } from '../wire/checksums';
import { S3Error } from '../errors';
import type { Call } from '../operation';
import { objectTime } from '../storage/object-metadata';
import { checksumResponseHeaders } from '../object-response';
import { sendEmpty } from '../wire/respond';
import { stageFile } from '../storage/stored-file';
import type { Upload } from '../storage/uploads';
import { findUpload } from './multipart';

export async function uploadPart(call: Call): Promise<void> {
  const { request, response, store, now } = call;
  const number = readPartNumber(request.query.get('partNumber') ?? '');
  const upload = await findUpload(call);
  assertPromisedAlgorithm(upload, request.headers);
  const payload = call.openPayload({ maxBytes: MAX_PART_BYTES });
  const staged = await stageFile({
    directory: store.tempDirectory,
    chunks: payload.chunks,
    describe: () => {
      const { md5, checksum } = payload.verified();
      return { number, etag: md5.toString('hex'), lastModified: objectTime(now()), checksum };
    },
  });
  await store.uploads.putPart(upload, staged);
  const { etag, checksum } = staged.metadata;
  sendEmpty(response, 200, { etag: `"${etag}"`, ...checksumResponseHeaders(checksum) });
}

const MAX_PART_BYTES = 5 * 1024 ** 3;
const MAX_PARTS = 10_000;

function readPartNumber(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= MAX_PARTS) return number;
  throw new S3Error('InvalidArgument', {
    message: `Part number must be an integer between 1 and ${MAX_PARTS}, inclusive`,
    ArgumentName: 'partNumber',
    ArgumentValue: text,
  });
}

function assertPromisedAlgorithm({ checksum }: Upload, headers: ReadonlyMap<string, string>): void {
  const actual = promisedChecksum(headers)?.algorithm;
  if (!checksum || checksum.algorithm === actual) return;
  throw new S3Error('InvalidRequest', {
    message: `Checksum Type mismatch occurred, expected checksum Type: ${checksum.algorithm.toLowerCase()}, actual checksum Type: ${actual?.toLowerCase() ?? 'null'}`,
  });
}
