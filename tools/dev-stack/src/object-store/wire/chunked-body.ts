import { createHash } from 'node:crypto';
import type { ChunkSigning } from './declared-payload';
import { S3Error } from '../errors';
import { EMPTY_SHA256, sameSecret, sha256Hex, sign } from './signature';
import { WireReader } from './wire-reader';

export interface ChunkedBodyOptions {
  /** Present when every chunk (and the trailer) must be signed. */
  signing?: ChunkSigning;
  /** The one header that the trailer must hold; absent when no trailer may follow. */
  trailerName?: string;
  onTrailer?: (value: string) => void;
}

/**
 * Decodes `aws-chunked`. A chunk is passed on while it arrives, before its signature is known to be right: whoever
 * reads must throw everything away when the generator throws, and must not believe a body that did not end.
 */
export async function* decodeAwsChunked(
  wire: AsyncIterable<Buffer>,
  { signing, trailerName, onTrailer }: ChunkedBodyOptions,
): AsyncGenerator<Buffer> {
  const reader = new WireReader(wire);
  try {
    yield* decodeChunks(reader, { signing, trailerName, onTrailer });
  } finally {
    await reader.release();
  }
}

/** S3's own limit; a client that streams smaller chunks works nowhere else either. */
const MIN_CHUNK_BYTES = 8192;
const MAX_TRAILER_LINES = 8;

async function* decodeChunks(
  reader: WireReader,
  { signing, trailerName, onTrailer }: ChunkedBodyOptions,
): AsyncGenerator<Buffer> {
  let previousSignature = signing?.previousSignature ?? '';
  let small: { number: number; size: number } | undefined;
  for (let number = 1; ; number += 1) {
    const { size, signature } = parseChunkHeader(await reader.line(), signing !== undefined);
    if (size > 0 && small) {
      throw new S3Error('InvalidChunkSizeError', { Chunk: `${small.number}`, BadChunkSize: `${small.size}` });
    }
    if (size < MIN_CHUNK_BYTES) small = { number, size };
    const hash = createHash('sha256');
    for (let left = size; left > 0;) {
      const piece = await reader.upTo(left);
      left -= piece.length;
      if (signing) hash.update(piece);
      yield piece;
    }
    if (signing) {
      assertChunkSignature(signing, { previousSignature, signature, sha256: hash.digest('hex') });
      previousSignature = signature;
    }
    if (size === 0) break;
    if ((await reader.line()) !== '') throw malformed();
  }
  if (trailerName !== undefined) {
    onTrailer?.(readTrailer(await readLines(reader), { name: trailerName, signing, previousSignature }));
  } else if ((await reader.line()) !== '') {
    throw malformed();
  }
  await reader.end();
}

function parseChunkHeader(line: string, signed: boolean): { size: number; signature: string } {
  const [, size, , signature = ''] = /^([0-9a-f]{1,12})(;chunk-signature=([0-9a-f]{64}))?$/i.exec(line) ?? [];
  if (size === undefined || (signature !== '') !== signed) throw malformed();
  return { size: Number.parseInt(size, 16), signature };
}

function assertChunkSignature(
  { key, timestamp, scope }: ChunkSigning,
  chunk: { previousSignature: string; signature: string; sha256: string },
): void {
  const stringToSign = [
    'AWS4-HMAC-SHA256-PAYLOAD',
    timestamp,
    scope,
    chunk.previousSignature,
    EMPTY_SHA256,
    chunk.sha256,
  ].join('\n');
  if (!sameSecret(sign(key, stringToSign), chunk.signature)) throw new S3Error('SignatureDoesNotMatch');
}

async function readLines(reader: WireReader): Promise<string[]> {
  const lines: string[] = [];
  for (let line = await reader.line(); line !== ''; line = await reader.line()) {
    if (lines.push(line) > MAX_TRAILER_LINES) throw new S3Error('MalformedTrailerError');
  }
  return lines;
}

function readTrailer(
  lines: string[],
  { name, signing, previousSignature }: { name: string; signing?: ChunkSigning; previousSignature: string },
): string {
  const expected = signing ? [name, 'x-amz-trailer-signature'] : [name];
  const trailers = lines.map((line) => {
    const colon = line.indexOf(':');
    return { name: line.slice(0, Math.max(colon, 0)).toLowerCase(), value: line.slice(colon + 1).trim() };
  });
  if (trailers.map((trailer) => trailer.name).join() !== expected.join()) throw new S3Error('MalformedTrailerError');
  const value = trailers[0]!.value;
  if (signing) {
    const stringToSign = [
      'AWS4-HMAC-SHA256-TRAILER',
      signing.timestamp,
      signing.scope,
      previousSignature,
      sha256Hex(`${name}:${value}\n`),
    ].join('\n');
    if (!sameSecret(sign(signing.key, stringToSign), trailers[1]!.value)) throw new S3Error('SignatureDoesNotMatch');
  }
  return value;
}

function malformed(): S3Error {
  return new S3Error('InvalidRequest', { message: 'The aws-chunked request body is not well-formed.' });
}
