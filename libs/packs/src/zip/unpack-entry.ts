import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createInflateRaw, crc32, inflateRawSync } from 'node:zlib';
import type { BundleFaultReason } from '@muster/contracts';
import type { ZipBytes } from './zip-bytes';
import type { PlacedEntry } from './require-contiguous-entries';

const deflated = 8;
const chunkBytes = 64 * 1024;
/** Size up to which an entry is inflated in one call, because that is faster than creating a stream. */
const smallBytes = 64 * 1024;

/** Unpacks an entry chunk by chunk and returns the digest of its bytes, which are not stored anywhere. */
export async function unpackEntry(
  zip: ZipBytes,
  entry: PlacedEntry,
): Promise<{ sha256: string } | { fault: BundleFaultReason }> {
  const sum = new Sum(entry);
  const isSmall = entry.size <= smallBytes && entry.zippedSize <= smallBytes;
  try {
    if (entry.method !== deflated) for await (const chunk of readZippedChunks(zip, entry)) sum.addChunk(chunk);
    else if (isSmall) await inflateAtOnce(zip, entry, sum);
    else await inflateAsStream(zip, entry, sum);
  } catch (error) {
    if (error instanceof WrongSize || isZlibFault(error)) return { fault: 'size_mismatch' };
    throw error;
  }
  return sum.finishSum();
}

class WrongSize extends Error {}

/** Compares the bytes of an entry with its declared size and checksum, chunk by chunk. */
class Sum {
  private readonly hash = createHash('sha256');
  private crc = 0;
  private size = 0;

  constructor(private readonly entry: PlacedEntry) {}

  addChunk(chunk: Buffer): void {
    this.size += chunk.length;
    if (this.size > this.entry.size) throw new WrongSize();
    this.crc = crc32(chunk, this.crc);
    this.hash.update(chunk);
  }

  finishSum(): { sha256: string } | { fault: BundleFaultReason } {
    if (this.size !== this.entry.size) return { fault: 'size_mismatch' };
    return this.crc === this.entry.crc32 ? { sha256: this.hash.digest('hex') } : { fault: 'digest_mismatch' };
  }
}

async function* readZippedChunks(zip: ZipBytes, { dataAt, zippedSize }: PlacedEntry): AsyncGenerator<Buffer> {
  for (let at = 0; at < zippedSize; at += chunkBytes) {
    yield await zip.readBytes(dataAt + at, Math.min(chunkBytes, zippedSize - at));
  }
}

async function inflateAtOnce(zip: ZipBytes, entry: PlacedEntry, sum: Sum): Promise<void> {
  const zipped = await zip.readBytes(entry.dataAt, entry.zippedSize);
  const { buffer, engine } = inflateRawSync(zipped, { maxOutputLength: entry.size + 1, info: true }) as unknown as {
    buffer: Buffer;
    engine: { bytesWritten: number };
  };
  if (engine.bytesWritten !== entry.zippedSize) throw new WrongSize();
  sum.addChunk(buffer);
}

async function inflateAsStream(zip: ZipBytes, entry: PlacedEntry, sum: Sum): Promise<void> {
  const inflater = createInflateRaw({ chunkSize: chunkBytes });
  await pipeline(readZippedChunks(zip, entry), inflater, async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) sum.addChunk(chunk);
  });
  // The entry has bytes after the end of its compressed data, which belong to no file.
  if (inflater.bytesWritten !== entry.zippedSize) throw new WrongSize();
}

/** Error codes of a pipeline that is aborted because the inflater has finished while bytes are left. */
const abortCodes = ['ABORT_ERR', 'ERR_BUFFER_TOO_LARGE', 'ERR_STREAM_PREMATURE_CLOSE'];

function isZlibFault(error: unknown): boolean {
  const { code = '' } = error as { code?: string };
  return code.startsWith('Z_') || abortCodes.includes(code);
}
