import type { IncomingMessage } from 'node:http';
import { BodyDigest } from './body-digest';
import type { DeclaredPayload } from './declared-payload';
import { S3Error } from '../errors';
import type { S3Request } from './request';
import { EMPTY_SHA256 } from './signature';

export interface Payload {
  /** The body, to be read once to its end. It ends without an error only if length and hashes match. */
  chunks: AsyncIterable<Buffer>;
  /** Returns the MD5 of the body. May be called only after `readChunks` has ended. */
  getVerifiedMd5(): Buffer;
}

export interface PayloadOptions {
  maxBytes: number;
}

/** Checks everything that can be checked before the body, so that a rejection does not cost an upload. */
export function openPayload(
  request: S3Request,
  { declared, onFirstRead, maxBytes }: PayloadOptions & { declared: DeclaredPayload; onFirstRead: () => void },
): Payload {
  const { headers } = request;
  const length = parsePayloadLength(request);
  if (length > maxBytes) {
    throw new S3Error('EntityTooLarge', { ProposedSize: `${length}`, MaxSizeAllowed: `${maxBytes}` });
  }
  const contentMd5 = readContentMd5(headers.get('content-md5'));
  const digest = new BodyDigest({ withSha256: declared.sha256 !== undefined });
  let result: Buffer | undefined;

  async function* readChunks(): AsyncGenerator<Buffer> {
    onFirstRead();
    for await (const chunk of readRawBody(request.incoming)) {
      digest.update(chunk);
      if (digest.size > length) throw new S3Error('IncompleteBody');
      yield chunk;
    }
    if (digest.size !== length) throw new S3Error('IncompleteBody');
    const { md5, sha256Hex } = digest.finish();
    if (declared.sha256 !== undefined && declared.sha256 !== sha256Hex) {
      throw new S3Error('XAmzContentSHA256Mismatch', {
        ClientComputedContentSHA256: declared.sha256,
        S3ComputedContentSHA256: sha256Hex,
      });
    }
    if (contentMd5 && !md5.equals(contentMd5)) {
      throw new S3Error('BadDigest', { message: 'The Content-MD5 you specified did not match what we received.' });
    }
    result = md5;
  }

  return {
    chunks: readChunks(),
    getVerifiedMd5() {
      if (!result) throw new Error('the payload was not read to its end');
      return result;
    },
  };
}

/** Requires an empty body, and the hash of an empty body if one is declared. */
export function assertEmptyPayload(request: S3Request, declared: DeclaredPayload): void {
  const { headers } = request;
  if ((headers.get('content-length') ?? '0') !== '0' || headers.has('transfer-encoding')) {
    throw new S3Error('UnexpectedContent');
  }
  if (declared.sha256 !== undefined && declared.sha256 !== EMPTY_SHA256) throw new S3Error('XAmzContentSHA256Mismatch');
}

function parsePayloadLength({ headers }: S3Request): number {
  const length = headers.get('content-length');
  if (length === undefined) throw new S3Error('MissingContentLength');
  if (!/^\d{1,15}$/.test(length)) {
    throw new S3Error('InvalidArgument', { ArgumentName: 'content-length', ArgumentValue: length });
  }
  return Number(length);
}

function readContentMd5(value: string | undefined): Buffer | undefined {
  if (value === undefined) return undefined;
  const md5 = Buffer.from(value, 'base64');
  if (md5.length !== 16 || md5.toString('base64') !== value) throw new S3Error('InvalidDigest');
  return md5;
}

/**
 * Reads the body without the stream's default iterator, which destroys the socket when a reader stops early. Then no
 * response could be sent.
 */
function readRawBody(incoming: IncomingMessage): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => incoming.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer> };
}
