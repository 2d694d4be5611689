import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { crc32, createInflateRaw, inflateRawSync } from 'node:zlib';
import { readZip, type ZipEntry, type ZipLimits } from './read-zip';
import { ZipFault } from './zip-fault';

export interface UnpackedFile {
  path: string;
  size: number;
  sha256: string;
}

const inOneGoBytes = 256 * 1024;
/**
 * Size in bytes of the pieces in which a large file is processed. A piece of this size stays in a core's cache between
 * inflating, hashing and writing. Larger pieces are slower.
 */
const pieceBytes = 256 * 1024;
/** Number of large files in parallel: one for each thread that inflates and writes. */
const largeFileConcurrency = 4;
const longestTurnMs = 20;

export interface UnzipOptions {
  stop?: AbortSignal;
  /**
   * SHA-256 of each file, by path, from an earlier unpacking of the same bytes. These checksums are not computed again.
   */
  sums?: ReadonlyMap<string, string>;
}

/**
 * Unpacks a zip to an empty folder and returns its files. If the zip's directory has a wrong entry, the whole zip is
 * refused before the first file is written. The function yields often, because the worker has other work too.
 */
export async function unzipToFolder(
  bytes: Buffer,
  folder: string,
  limits: ZipLimits,
  { stop, sums }: UnzipOptions = {},
): Promise<UnpackedFile[]> {
  const entries = readZip(bytes, limits);
  const createdFolders = new Set<string>();
  const digests = new Map<string, string>();
  const large: ZipEntry[] = [];
  let began = Date.now();
  for (const entry of entries) {
    if (Date.now() - began > longestTurnMs) {
      await turn();
      began = Date.now();
    }
    stop?.throwIfAborted();
    const target = join(folder, entry.name);
    const parent = entry.isFolder ? target : dirname(target);
    if (!createdFolders.has(parent)) mkdirSync(parent, { recursive: true, mode: 0o700 });
    createdFolders.add(parent);
    if (entry.isFolder) continue;
    if (entry.size > inOneGoBytes) large.push(entry);
    else digests.set(entry.name, writeSmallFile(target, entry, sums));
  }
  await runInParallel(large, async (entry) => {
    digests.set(entry.name, await writeLargeFile(join(folder, entry.name), entry, { stop, sums }));
  });
  return entries.flatMap(({ name: path, size, isFolder }) =>
    isFolder ? [] : [{ path, size, sha256: digests.get(path)! }],
  );
}

/**
 * Processes entries in parallel. After a failure, no further entry is started, and the error is thrown when no entry is
 * in progress.
 */
async function runInParallel(entries: ZipEntry[], work: (entry: ZipEntry) => Promise<void>): Promise<void> {
  const left = [...entries];
  const processNext = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      try {
        await work(next);
      } catch (error) {
        left.length = 0;
        throw error;
      }
    }
  };
  const outcomes = await Promise.allSettled(
    Array.from({ length: Math.min(largeFileConcurrency, entries.length) }, processNext),
  );
  const failed = outcomes.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  if (failed) throw failed.reason;
}

/**
 * Writes a small file synchronously, because thousands of small files take much less time than with a promise for each
 * step.
 */
function writeSmallFile(target: string, entry: ZipEntry, sums: UnzipOptions['sums']): string {
  const { name: path, size, crc } = entry;
  const content = inflateEntry(entry);
  if (content.length !== size) throw new ZipFault('size_mismatch', path);
  if (crc32(content) !== crc) throw new ZipFault('digest_mismatch', path);
  // `wx` never writes to an existing path, such as a link.
  writeFileSync(target, content, { flag: 'wx', mode: entry.isProgram ? 0o700 : 0o600 });
  return sums?.get(path) ?? createHash('sha256').update(content).digest('hex');
}

function inflateEntry({ name, method, size, packed }: ZipEntry): Buffer {
  if (method === 0) return packed;
  try {
    return inflateRawSync(packed, { maxOutputLength: Math.max(1, size) });
  } catch (error) {
    const isLarger = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw new ZipFault(isLarger ? 'size_mismatch' : 'truncated', name);
  }
}

async function writeLargeFile(target: string, entry: ZipEntry, { stop, sums }: UnzipOptions): Promise<string> {
  const { name: path, size, crc } = entry;
  const knownSum = sums?.get(path);
  const sum = knownSum ? null : createHash('sha256');
  let [writtenBytes, writtenCrc] = [0, 0];
  const file = await open(target, 'wx', entry.isProgram ? 0o700 : 0o600);
  try {
    for await (const piece of readContent(entry)) {
      stop?.throwIfAborted();
      writtenBytes += piece.length;
      // The declared size is a limit, and the sum of the declared sizes was checked, so a zip bomb ends here.
      if (writtenBytes > size) break;
      writtenCrc = crc32(piece, writtenCrc);
      sum?.update(piece);
      await file.writeFile(piece);
    }
  } finally {
    await file.close();
  }
  if (writtenBytes !== size) throw new ZipFault('size_mismatch', path);
  if (writtenCrc !== crc) throw new ZipFault('digest_mismatch', path);
  return knownSum ?? sum!.digest('hex');
}

async function* readContent({ name, method, packed }: ZipEntry): AsyncGenerator<Buffer> {
  if (method === 0) {
    for (let at = 0; at < packed.length; at += pieceBytes) {
      yield packed.subarray(at, at + pieceBytes);
      await turn();
    }
    return;
  }
  const inflate = createInflateRaw({ chunkSize: pieceBytes });
  inflate.end(packed);
  try {
    for await (const piece of inflate) yield piece as Buffer;
  } catch {
    throw new ZipFault('truncated', name);
  }
}
