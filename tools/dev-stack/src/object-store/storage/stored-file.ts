import { randomUUID } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * One file contains the bytes followed by the metadata: `bytes · JSON · length of the JSON · magic`. So a single rename
 * replaces both, and an open handle still reads one complete version after the file was replaced.
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

/** Writes a temporary file and flushes it to disk. The file is removed if the bytes or `describe` throw. */
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

/** Opens a stored file; undefined if it does not exist. The caller closes the handle. */
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
    const bytes = readFooterLength(path, tail);
    if (bytes > tail.length) tail = await readTail(bytes);
    return { handle, metadata: parseFooter<Metadata>(path, tail, bytes), size: size - bytes };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/**
 * Reads the metadata for the index at startup. Thousands of small synchronous reads are much faster than as many
 * promises.
 */
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
    const bytes = readFooterLength(path, tail);
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

/** Flushes a directory: a rename is durable only after that. */
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
/**
 * Number of bytes that are read first from the end of a file. They contain nearly every footer, so that one read is
 * sufficient. A longer footer contains its length.
 */
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

function readFooterLength(path: string, tail: Buffer): number {
  const lengthAt = tail.length - MAGIC.length - LENGTH_BYTES;
  if (lengthAt < 0 || !tail.subarray(lengthAt + LENGTH_BYTES).equals(MAGIC)) throw new Error(`${path} is incomplete`);
  return tail.readUInt32BE(lengthAt) + LENGTH_BYTES + MAGIC.length;
}

function parseFooter<Metadata>(path: string, tail: Buffer, bytes: number): Metadata {
  if (bytes > tail.length) throw new Error(`${path} is incomplete`);
  return JSON.parse(tail.toString('utf8', tail.length - bytes, tail.length - MAGIC.length - LENGTH_BYTES)) as Metadata;
}
