import { S3Error } from '../errors';
import type { S3Request } from './request';

export interface DeclaredPayload {
  /** Value of x-amz-content-sha256, the last line of the canonical request. */
  header: string;
  /** The SHA-256 that the body must have. */
  sha256?: string;
}

export function readDeclaredPayload(request: S3Request): DeclaredPayload {
  const isPresigned = request.presigned.size > 0;
  const header = request.headers.get('x-amz-content-sha256') ?? (isPresigned ? 'UNSIGNED-PAYLOAD' : undefined);
  if (header === undefined) {
    throw new S3Error('InvalidRequest', { message: 'Missing required header for this request: x-amz-content-sha256' });
  }
  if (/^[0-9a-f]{64}$/.test(header)) return { header, sha256: header };
  if (header === 'UNSIGNED-PAYLOAD') return { header };
  if (header.startsWith('STREAMING-')) throw new S3Error('NotImplemented', { Header: 'x-amz-content-sha256' });
  throw new S3Error('InvalidArgument', {
    message: 'x-amz-content-sha256 must be UNSIGNED-PAYLOAD or a valid sha256 value.',
    ArgumentName: 'x-amz-content-sha256',
    ArgumentValue: header,
  });
}
