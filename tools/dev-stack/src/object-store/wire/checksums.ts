import { createHash } from 'node:crypto';
import { Crc32, Crc32c, Crc64Nvme, type Checksummer } from './crc';
import { S3Error } from '../errors';

export const CHECKSUM_ALGORITHMS = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const;
export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number];

export interface Checksum {
  algorithm: ChecksumAlgorithm;
  /** Base64; a composite one of a multipart upload ends in `-<parts>`. */
  value: string;
  type: 'FULL_OBJECT' | 'COMPOSITE';
}

/** What the request promises about its body. A trailer names the algorithm first and the value after the body. */
export interface PromisedChecksum {
  algorithm: ChecksumAlgorithm;
  value?: string;
}

export function promisedChecksum(headers: ReadonlyMap<string, string>): PromisedChecksum | undefined {
  const inHeaders = CHECKSUM_ALGORITHMS.filter((algorithm) => headers.has(checksumHeader(algorithm)));
  const trailer = headers.get('x-amz-trailer');
  if (inHeaders.length + (trailer === undefined ? 0 : 1) > 1) {
    throw new S3Error('InvalidRequest', {
      message: 'Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.',
    });
  }
  const promised = trailer === undefined ? fromHeader(headers, inHeaders[0]) : fromTrailer(trailer);
  assertNamedAlgorithm(headers.get('x-amz-sdk-checksum-algorithm'), promised);
  return promised;
}

export function createChecksummer(algorithm: ChecksumAlgorithm): Checksummer {
  switch (algorithm) {
    case 'CRC32':
      return new Crc32();
    case 'CRC32C':
      return new Crc32c();
    case 'CRC64NVME':
      return new Crc64Nvme();
    case 'SHA1':
      return createHash('sha1');
    case 'SHA256':
      return createHash('sha256');
  }
}

export function checksumHeader(algorithm: ChecksumAlgorithm): string {
  return `x-amz-checksum-${algorithm.toLowerCase()}`;
}

export function assertChecksumValue(algorithm: ChecksumAlgorithm, value: string): void {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length !== DIGEST_BYTES[algorithm] || bytes.toString('base64') !== value) {
    throw new S3Error('InvalidRequest', { message: `Value for ${checksumHeader(algorithm)} header is invalid.` });
  }
}

export function parseChecksumAlgorithm(name: string): ChecksumAlgorithm {
  const algorithm = CHECKSUM_ALGORITHMS.find((known) => known === name.toUpperCase());
  if (!algorithm) throw new S3Error('InvalidRequest', { message: 'Checksum algorithm provided is unsupported.' });
  return algorithm;
}

const DIGEST_BYTES: Record<ChecksumAlgorithm, number> = { CRC32: 4, CRC32C: 4, CRC64NVME: 8, SHA1: 20, SHA256: 32 };

function fromHeader(
  headers: ReadonlyMap<string, string>,
  algorithm: ChecksumAlgorithm | undefined,
): PromisedChecksum | undefined {
  if (!algorithm) return undefined;
  const value = headers.get(checksumHeader(algorithm)) ?? '';
  assertChecksumValue(algorithm, value);
  return { algorithm, value };
}

function fromTrailer(trailer: string): PromisedChecksum {
  const algorithm = CHECKSUM_ALGORITHMS.find((known) => checksumHeader(known) === trailer.toLowerCase());
  if (!algorithm) {
    throw new S3Error('InvalidRequest', {
      message: 'The value specified in the x-amz-trailer header is not supported',
    });
  }
  return { algorithm };
}

/** A client that names an algorithm but sends no checksum believes its upload was verified: it was not. */
function assertNamedAlgorithm(named: string | undefined, promised: PromisedChecksum | undefined): void {
  if (named === undefined) return;
  if (parseChecksumAlgorithm(named) !== promised?.algorithm) {
    throw new S3Error('InvalidRequest', {
      message:
        'x-amz-sdk-checksum-algorithm specified, but no corresponding x-amz-checksum-* or x-amz-trailer headers were found.',
    });
  }
}
