import type { IncomingMessage } from 'node:http';
import { BodyDigest } from './body-digest';
import { assertChecksumValue, checksumHeader, promisedChecksum, type Checksum } from './checksums';
import { decodeAwsChunked } from './chunked-body';
import type { DeclaredPayload } from './declared-payload';
import { S3Error } from '../errors';
import type { S3Request } from './request';
import { EMPTY_SHA256 } from './signature';

export interface Payload {
  /** To be read to the end once: it ends normally only when every promise about the body was kept. */
  chunks: AsyncIterable<Buffer>;
  /** Only after `chunks` has ended. */
  verified(): { md5: Buffer; checksum?: Checksum };
}

export interface PayloadOptions {
  maxBytes: number;
  /** For the one operation whose x-amz-checksum-* headers speak of the finished object instead of this body. */
  ignoreChecksumHeaders?: boolean;
}

/** Checks all that can be checked before the body, so that a refusal costs no upload. */
export function openPayload(
  request: S3Request,
  {
    declared,
    onFirstRead,
    maxBytes,
    ignoreChecksumHeaders,
  }: PayloadOptions & { declared: DeclaredPayload; onFirstRead: () => void },
): Payload {
  const { headers } = request;
  const length = payloadLength(request, declared);
  if (length > maxBytes) {
    throw new S3Error('EntityTooLarge', { ProposedSize: `${length}`, MaxSizeAllowed: `${maxBytes}` });
  }
  const contentMd5 = readContentMd5(headers.get('content-md5'));
  const promised = ignoreChecksumHeaders ? undefined : promisedChecksum(headers);
  if (headers.has('x-amz-trailer') !== (declared.chunked?.trailer ?? false)) {
    throw new S3Error('InvalidRequest', { message: 'x-amz-trailer and x-amz-content-sha256 do not agree.' });
  }
  const digest = new BodyDigest({ algorithm: promised?.algorithm, withSha256: declared.sha256 !== undefined });
  let promisedValue = promised?.value;
  let result: { md5: Buffer; checksum?: Checksum } | undefined;

  async function* chunks(): AsyncGenerator<Buffer> {
    onFirstRead();
    const wire = readWire(request.incoming);
    const source = declared.chunked
      ? decodeAwsChunked(wire, {
          signing: declared.chunked.signing,
          trailerName: headers.get('x-amz-trailer')?.toLowerCase(),
          onTrailer: (value) => {
            promisedValue = value;
          },
        })
      : wire;
    for await (const chunk of source) {
      digest.update(chunk);
      if (digest.size > length) throw new S3Error('IncompleteBody');
      yield chunk;
    }
    if (digest.size !== length) throw new S3Error('IncompleteBody');
    const { md5, sha256Hex, checksum } = digest.finish();
    if (declared.sha256 !== undefined && declared.sha256 !== sha256Hex) {
      throw new S3Error('XAmzContentSHA256Mismatch', {
        ClientComputedContentSHA256: declared.sha256,
        S3ComputedContentSHA256: sha256Hex,
      });
    }
    assertPromisesKept({ md5, contentMd5, checksum, promisedValue });
    result = { md5, checksum };
  }

  return {
    chunks: chunks(),
    verified() {
      if (!result) throw new Error('the payload was not read to its end');
      return result;
    },
  };
}

/** For the requests that have no body: one that comes all the same is refused, and so is a wrong hash of nothing. */
export function assertEmptyPayload(request: S3Request, declared: DeclaredPayload): void {
  const { headers } = request;
  if ((headers.get('content-length') ?? '0') !== '0' || headers.has('transfer-encoding') || declared.chunked) {
    throw new S3Error('UnexpectedContent');
  }
  if (declared.sha256 !== undefined && declared.sha256 !== EMPTY_SHA256) throw new S3Error('XAmzContentSHA256Mismatch');
}

export function hasBody({ headers }: S3Request): boolean {
  return headers.has('content-length') || headers.has('transfer-encoding');
}

function payloadLength({ headers }: S3Request, declared: DeclaredPayload): number {
  const name = declared.chunked ? 'x-amz-decoded-content-length' : 'content-length';
  const length = headers.get(name);
  if (length === undefined) {
    throw new S3Error('MissingContentLength', { message: `You must provide the ${name} HTTP header.` });
  }
  if (!/^\d{1,15}$/.test(length)) throw new S3Error('InvalidArgument', { ArgumentName: name, ArgumentValue: length });
  return Number(length);
}

function readContentMd5(value: string | undefined): Buffer | undefined {
  if (value === undefined) return undefined;
  const md5 = Buffer.from(value, 'base64');
  if (md5.length !== 16 || md5.toString('base64') !== value) throw new S3Error('InvalidDigest');
  return md5;
}

function assertPromisesKept({
  md5,
  contentMd5,
  checksum,
  promisedValue,
}: {
  md5: Buffer;
  contentMd5?: Buffer;
  checksum?: Checksum;
  promisedValue?: string;
}): void {
  if (contentMd5 && !md5.equals(contentMd5)) {
    throw new S3Error('BadDigest', { message: 'The Content-MD5 you specified did not match what we received.' });
  }
  if (!checksum) return;
  assertChecksumValue(checksum.algorithm, promisedValue ?? '');
  if (checksum.value !== promisedValue) {
    throw new S3Error('BadDigest', {
      message: `The ${checksum.algorithm} you specified did not match the calculated checksum.`,
      Header: checksumHeader(checksum.algorithm),
    });
  }
}

/** Not the stream's own iterator: that one destroys the socket when a reader stops early, and with it our answer. */
function readWire(incoming: IncomingMessage): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer> };
}
