import { S3Error } from '../errors';
import type { S3Request } from './request';

/** Everything needed to check the signatures that an aws-chunked body carries. */
export interface ChunkSigning {
  key: Buffer;
  timestamp: string;
  scope: string;
  previousSignature: string;
}

export interface DeclaredPayload {
  /** The value of x-amz-content-sha256, which is the last line of the canonical request. */
  header: string;
  /** The hash that the body must have. */
  sha256?: string;
  /** Present when the body is aws-chunked. */
  chunked?: { trailer: boolean; signing?: ChunkSigning };
}

export function readDeclaredPayload(request: S3Request, signing: ChunkSigning): DeclaredPayload {
  const isPresigned = request.presigned.size > 0;
  const header = request.headers.get('x-amz-content-sha256') ?? (isPresigned ? 'UNSIGNED-PAYLOAD' : undefined);
  if (header === undefined) {
    throw new S3Error('InvalidRequest', { message: 'Missing required header for this request: x-amz-content-sha256' });
  }
  if (/^[0-9a-f]{64}$/.test(header)) return { header, sha256: header };
  if (header === 'UNSIGNED-PAYLOAD') return { header };
  if (!isPresigned) {
    if (header === 'STREAMING-UNSIGNED-PAYLOAD-TRAILER') return { header, chunked: { trailer: true } };
    if (header === 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD') return { header, chunked: { trailer: false, signing } };
    if (header === 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER') return { header, chunked: { trailer: true, signing } };
  }
  if (header.startsWith('STREAMING-')) throw new S3Error('NotImplemented', { Header: 'x-amz-content-sha256' });
  throw new S3Error('InvalidArgument', {
    message:
      'x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value.',
    ArgumentName: 'x-amz-content-sha256',
    ArgumentValue: header,
  });
}
