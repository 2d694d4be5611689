import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { BodyDigest, digesting } from '../wire/body-digest';
import { createChecksummer, type Checksum } from '../wire/checksums';
import { assertMayWrite, readWriteCondition } from '../conditions';
import { S3Error } from '../errors';
import { callBucket, type Call } from '../operation';
import { objectTime } from '../storage/object-metadata';
import { checksumNodes } from '../object-response';
import { sendXml } from '../wire/respond';
import { readBytes, stageFile } from '../storage/stored-file';
import type { Part, Upload, Uploads } from '../storage/uploads';
import { readCompletion, type CompletedPart } from './completion';
import { findUpload } from './multipart';

export async function completeUpload(call: Call): Promise<void> {
  const { request, response, store, now } = call;
  const bucket = callBucket(call);
  const upload = await findUpload(call);
  const condition = readWriteCondition(request.headers);
  assertMayWrite(condition, bucket.index.get(upload.key));
  const { listed, promised } = await readCompletion(call, upload);
  const parts = matchParts(await store.uploads.listParts(upload), { listed, upload });
  const digest = new BodyDigest({ algorithm: upload.checksum?.algorithm });
  const staged = await stageFile({
    directory: store.tempDirectory,
    chunks: digesting(joinParts(store.uploads, { upload, parts }), digest),
    describe: () => {
      const checksum = objectChecksum(upload, { parts, whole: digest.finish().checksum });
      // The part count behind a composite checksum may be left out.
      if (promised !== undefined && ![checksum?.value, checksum?.value.split('-')[0]].includes(promised)) {
        throw new S3Error('BadDigest', {
          message: 'The checksum you specified did not match the calculated checksum.',
        });
      }
      const { key, headers } = upload;
      return { key, etag: multipartEtag(parts), lastModified: objectTime(now()), headers, checksum };
    },
  });
  // One synchronous step: of two completions, or of a completion and an abort, only the first finds the upload open.
  if (!store.uploads.isOpen(upload)) {
    await rm(staged.path, { force: true });
    throw new S3Error('NoSuchUpload', { UploadId: upload.id });
  }
  bucket.put(staged, condition);
  await Promise.all([store.uploads.remove(upload), bucket.flush()]);
  const { etag, checksum } = staged.metadata;
  sendXml(response, [
    'CompleteMultipartUploadResult',
    [
      ['Location', `http://${request.headers.get('host') ?? ''}${request.target.rawPath}`],
      ['Bucket', bucket.name],
      ['Key', upload.key],
      ['ETag', `"${etag}"`],
      ...checksumNodes(checksum),
    ],
  ]);
}

const MIN_PART_BYTES = 5 * 1024 ** 2;

function matchParts(stored: Part[], { listed, upload }: { listed: CompletedPart[]; upload: Upload }): Part[] {
  const byNumber = new Map(stored.map((part) => [part.number, part]));
  return listed.map(({ number, etag, checksums }, position) => {
    const part = byNumber.get(number);
    const agrees = checksums.every(
      ({ algorithm, value }) => part?.checksum?.algorithm === algorithm && part.checksum.value === value,
    );
    if (!part || part.etag !== etag || !agrees) {
      throw new S3Error('InvalidPart', { UploadId: upload.id, PartNumber: `${number}`, ETag: etag });
    }
    if (position < listed.length - 1 && part.size < MIN_PART_BYTES) {
      throw new S3Error('EntityTooSmall', {
        ProposedSize: `${part.size}`,
        MinSizeAllowed: `${MIN_PART_BYTES}`,
        PartNumber: `${number}`,
        ETag: etag,
      });
    }
    return part;
  });
}

/** One part open at a time: ten thousand at once would be more files than a process may have. */
async function* joinParts(
  uploads: Uploads,
  { upload, parts }: { upload: Upload; parts: Part[] },
): AsyncGenerator<Buffer> {
  for (const part of parts) {
    const file = await uploads.openPart(upload, part);
    try {
      yield* readBytes(file, { start: 0, end: file.size - 1 });
    } finally {
      await file.handle.close();
    }
  }
}

function multipartEtag(parts: Part[]): string {
  const md5s = Buffer.concat(parts.map((part) => Buffer.from(part.etag, 'hex')));
  return `${createHash('md5').update(md5s).digest('hex')}-${parts.length}`;
}

function objectChecksum(
  { checksum: plan }: Upload,
  { parts, whole }: { parts: Part[]; whole?: Checksum },
): Checksum | undefined {
  if (plan?.type !== 'COMPOSITE') return whole;
  const checksummer = createChecksummer(plan.algorithm);
  for (const part of parts) checksummer.update(Buffer.from(part.checksum?.value ?? '', 'base64'));
  return { ...plan, value: `${checksummer.digest().toString('base64')}-${parts.length}` };
}
