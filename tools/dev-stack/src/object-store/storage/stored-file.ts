import { randomUUID } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * One file holds the bytes and, behind them, the metadata: `bytes · JSON · length of the JSON · magic`. So a single
 * rename replaces both, and an open handle goes on reading one whole version whatever is renamed over it.
 */
export interface StoredFile<Metadata> {
  handle: FileHandle;
  metadata: Metadata;
  size: number;
}

export interface StagedFile<Metadata> {
  path: string;
  metadata: Metadata;
  size: number;
}

/** Writes a temp file and flushes it to disk; nothing is left behind when the bytes or `describe` throw. */
export async function stageFile<Metadata>({
  directory,
  chunks,
  describe,
}: {
  directory: string;
  chunks: AsyncIterable<Buffer>;
  describe: () => Metadata;
}): Promise<StagedFile<Metadata>> {
  const path = join(directory, randomUUID());
  const handle = await open(path, 'wx', 0o600);
  let staged = false;
  try {
    let size = 0;
    for await (const chunk of chunks) {
      await writeAll(handle, chunk);
      size += chunk.length;
    }
    const metadata = describe();
    await writeAll(handle, encodeFooter(metadata));
    await handle.sync();
    staged = true;
    return { path, metadata, size };
  } finally {
    await handle.close();
    if (!staged) await rm(path, { force: true });
  }
}

/** Undefined when there is no such file. The caller closes the handle. */
export async function openStoredFile<Metadata>(path: string): Promise<StoredFile<Metadata> | undefined> {
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!handle) return undefined;
  try {
    const { size } = await handle.stat();
    const readTail = async (bytes: number) => {
      const tail = Buffer.alloc(Math.min(size, bytes));
      await handle.read(tail, 0, tail.length, size - tail.length);
      return tail;
    };
    let tail = await readTail(LIKELY_FOOTER_BYTES);
    const bytes = footerBytes(path, tail);
    if (bytes > tail.length) tail = await readTail(bytes);
    return { handle, metadata: parseFooter<Metadata>(path, tail, bytes), size: size - bytes };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** For the index at start-up, where thousands of small synchronous reads are far cheaper than as many promises. */
export function readStoredMetadata<Metadata>(path: string): { metadata: Metadata; size: number } {
  const descriptor = openSync(path, 'r');
  try {
    const { size } = fstatSync(descriptor);
    const readTail = (bytes: number) => {
      const tail = Buffer.alloc(Math.min(size, bytes));
      readSync(descriptor, tail, 0, tail.length, size - tail.length);
      return tail;
    };
    let tail = readTail(LIKELY_FOOTER_BYTES);
    const bytes = footerBytes(path, tail);
    if (bytes > tail.length) tail = readTail(bytes);
    return { metadata: parseFooter<Metadata>(path, tail, bytes), size: size - bytes };
  } finally {
    closeSync(descriptor);
  }
}

export async function* readBytes(
  { handle }: { handle: FileHandle },
  { start, end }: { start: number; end: number },
): AsyncGenerator<Buffer> {
  if (end < start) return;
  yield* handle.createReadStream({ start, end, autoClose: false }) as AsyncIterable<Buffer>;
}

/** A rename is on disk only once its directory is. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const MAGIC = Buffer.from('MUSTOBJ1');
const LENGTH_BYTES = 4;
/** Enough for nearly every footer, so that one read fetches it; a longer one says its length. */
const LIKELY_FOOTER_BYTES = 4096;

async function writeAll(handle: FileHandle, bytes: Buffer): Promise<void> {
  for (let written = 0; written < bytes.length;) {
    written += (await handle.write(bytes, written, bytes.length - written)).bytesWritten;
  }
}

function encodeFooter(metadata: unknown): Buffer {
  const json = Buffer.from(JSON.stringify(metadata));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(json.length);
  return Buffer.concat([json, length, MAGIC]);
}

function footerBytes(path: string, tail: Buffer): number {
  const lengthAt = tail.length - MAGIC.length - LENGTH_BYTES;
  if (lengthAt < 0 || !tail.subarray(lengthAt + LENGTH_BYTES).equals(MAGIC)) throw new Error(`${path} is not complete`);
  return tail.readUInt32BE(lengthAt) + LENGTH_BYTES + MAGIC.length;
}

function parseFooter<Metadata>(path: string, tail: Buffer, bytes: number): Metadata {
  if (bytes > tail.length) throw new Error(`${path} is not complete`);
  return JSON.parse(tail.toString('utf8', tail.length - bytes, tail.length - MAGIC.length - LENGTH_BYTES)) as Metadata;
}
