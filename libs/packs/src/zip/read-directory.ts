import { type BundleFaults, bundleRejectedError } from './bundle-faults';
import { checkEntryKind } from './entry-kind';
import { decodeEntryPath } from './entry-path';
import { parseExtraFields, applyZip64Values } from './extra-fields';
import type { DirectoryLocation } from './find-directory';
import type { ZipBytes } from './zip-bytes';

/** One entry of a zip's central directory. */
export interface ZipEntry {
  path: string;
  isFolder: boolean;
  name: Buffer;
  flags: number;
  method: number;
  crc32: number;
  zippedSize: number;
  size: number;
  headerAt: number;
}

const headerBytes = 46;
const [encryptedFlag, strongFlag, maskedFlag, utf8Flag] = [1, 1 << 6, 1 << 13, 1 << 11];
const [stored, deflated, aes] = [0, 8, 99];

/**
 * Returns the entries in the order of the directory. An invalid entry is reported as a fault, and the others are still
 * read.
 */
export async function readDirectory(
  zip: ZipBytes,
  { start, size, entries }: DirectoryLocation,
  faults: BundleFaults,
): Promise<ZipEntry[]> {
  const directory = await zip.readBytes(start, size);
  const read: ZipEntry[] = [];
  let at = 0;
  for (let count = 0; count < entries; count += 1) {
    await zip.yieldToEventLoop();
    if (at + headerBytes > size || directory.readUInt32LE(at) !== 0x02014b50) throw bundleRejectedError('not_a_zip');
    const lengths = [28, 30, 32].map((offset) => directory.readUInt16LE(at + offset)) as [number, number, number];
    const next = at + headerBytes + lengths[0] + lengths[1] + lengths[2];
    if (next > size) throw bundleRejectedError('not_a_zip');
    const entry = readDirectoryEntry(directory.subarray(at, next), lengths, faults);
    if (entry) read.push(entry);
    if (faults.isFull) return read;
    at = next;
  }
  if (at !== size) throw bundleRejectedError('not_a_zip');
  return read;
}

function readDirectoryEntry(bytes: Buffer, [nameBytes, extraBytes]: number[], faults: BundleFaults): ZipEntry | null {
  const nameEnd = headerBytes + nameBytes!;
  const name = bytes.subarray(headerBytes, nameEnd);
  const [flags, method] = [bytes.readUInt16LE(8), bytes.readUInt16LE(10)];
  const entryPath = decodeEntryPath(name, (flags & utf8Flag) !== 0);
  const { path } = entryPath;
  const reportFault = (reason: Parameters<BundleFaults['addFault']>[1]) => {
    faults.addFault(path, reason);
    return null;
  };
  if (entryPath.fault) return reportFault(entryPath.fault);
  if ((flags & (encryptedFlag | strongFlag | maskedFlag)) !== 0 || method === aes) return reportFault('encrypted');
  const extra = parseExtraFields(bytes.subarray(nameEnd, nameEnd + extraBytes!), path);
  if (extra.unicodePath && !extra.unicodePath.equals(name)) return reportFault('bad_name');
  const kind = checkEntryKind(bytes.readUInt32LE(38), entryPath.isFolder);
  if (kind) return reportFault(kind);
  if (method !== stored && method !== deflated) return reportFault('not_a_zip');
  if (bytes.readUInt16LE(34) !== 0) return reportFault('not_a_zip');
  const [size, zippedSize, headerAt] = applyZip64Values(
    [24, 20, 42].map((at) => bytes.readUInt32LE(at)),
    extra,
    path,
  );
  if ((method === stored && size !== zippedSize) || (entryPath.isFolder && size !== 0))
    return reportFault('size_mismatch');
  return {
    path,
    isFolder: entryPath.isFolder,
    name,
    flags,
    method,
    crc32: bytes.readUInt32LE(16),
    zippedSize: zippedSize!,
    size: size!,
    headerAt: headerAt!,
  };
}
