import { bundleRejectedError } from './bundle-faults';
import { parseExtraFields, applyZip64Values } from './extra-fields';
import type { ZipBytes } from './zip-bytes';
import type { ZipEntry } from './read-directory';

const headerBytes = 30;
const describedLater = 1 << 3;
const descriptorSignature = 0x08074b50;

/** An entry with the position of its data. */
export type PlacedEntry = ZipEntry & { dataAt: number };

/**
 * Checks that the local headers agree with the directory, and that every byte of the archive belongs to one entry. The
 * first entry begins at the start of the file, each entry begins where the previous one ends, and the directory follows
 * the last one. So a program that reads from the front finds the same files, and no two entries share bytes.
 */
export async function requireContiguousEntries(
  zip: ZipBytes,
  entries: readonly ZipEntry[],
  directoryAt: number,
): Promise<PlacedEntry[]> {
  const inOrder = [...entries].sort((one, other) => one.headerAt - other.headerAt);
  const placedEntries: PlacedEntry[] = [];
  if ((inOrder[0]?.headerAt ?? directoryAt) !== 0) throw bundleRejectedError('not_a_zip');
  for (const [index, entry] of inOrder.entries()) {
    const dataAt = await readLocalHeader(zip, entry);
    placedEntries.push({ ...entry, dataAt });
    const dataEnd = dataAt + entry.zippedSize;
    const end = inOrder[index + 1]?.headerAt ?? directoryAt;
    await requireDataDescriptor(zip, { entry, dataEnd, end });
  }
  return placedEntries;
}

async function readLocalHeader(zip: ZipBytes, entry: ZipEntry): Promise<number> {
  const { path, name, headerAt } = entry;
  const header = await zip.readBytes(headerAt, headerBytes);
  const nameBytes = header.readUInt16LE(26);
  const extraBytes = header.readUInt16LE(28);
  if (header.readUInt32LE(0) !== 0x04034b50) throw bundleRejectedError('not_a_zip', path);
  const rest = await zip.readBytes(headerAt + headerBytes, nameBytes + extraBytes);
  if (!rest.subarray(0, nameBytes).equals(name)) throw bundleRejectedError('bad_name', path);
  const extra = parseExtraFields(rest.subarray(nameBytes), path);
  if (extra.unicodePath && !extra.unicodePath.equals(name)) throw bundleRejectedError('bad_name', path);
  if (header.readUInt16LE(6) !== entry.flags || header.readUInt16LE(8) !== entry.method)
    throw bundleRejectedError('not_a_zip', path);
  const isLater = (entry.flags & describedLater) !== 0;
  const [size, zippedSize] = applyZip64Values([header.readUInt32LE(22), header.readUInt32LE(18)], extra, path);
  const matchesDeclared = (declared: number, expected: number) => declared === expected || (isLater && declared === 0);
  if (!matchesDeclared(size!, entry.size) || !matchesDeclared(zippedSize!, entry.zippedSize))
    throw bundleRejectedError('size_mismatch', path);
  if (!matchesDeclared(header.readUInt32LE(14), entry.crc32)) throw bundleRejectedError('digest_mismatch', path);
  return headerAt + headerBytes + nameBytes + extraBytes;
}

/**
 * Checks what follows the data of a file: a data descriptor in one of four forms if the file was written as a stream,
 * otherwise nothing.
 */
async function requireDataDescriptor(
  zip: ZipBytes,
  { entry, dataEnd, end }: { entry: ZipEntry; dataEnd: number; end: number },
): Promise<void> {
  if ((entry.flags & describedLater) === 0) {
    if (dataEnd !== end) throw bundleRejectedError('not_a_zip', entry.path);
    return;
  }
  const form = forms[end - dataEnd];
  if (!form) throw bundleRejectedError('not_a_zip', entry.path);
  const descriptor = await zip.readBytes(dataEnd, end - dataEnd);
  if (!descriptor.equals(encodeDataDescriptor(entry, form))) throw bundleRejectedError('size_mismatch', entry.path);
}

interface DescriptorForm {
  isSigned: boolean;
  isWide: boolean;
}

/** Forms of a data descriptor, by length in bytes. */
const forms: Record<number, DescriptorForm> = {
  12: { isSigned: false, isWide: false },
  16: { isSigned: true, isWide: false },
  20: { isSigned: false, isWide: true },
  24: { isSigned: true, isWide: true },
};

function encodeDataDescriptor({ crc32, size, zippedSize }: ZipEntry, { isSigned, isWide }: DescriptorForm): Buffer {
  const signature = Buffer.alloc(isSigned ? 4 : 0);
  if (isSigned) signature.writeUInt32LE(descriptorSignature);
  const rest = Buffer.alloc(isWide ? 20 : 12);
  rest.writeUInt32LE(crc32);
  for (const [index, value] of [zippedSize, size].entries()) {
    if (isWide) rest.writeBigUInt64LE(BigInt(value), 4 + index * 8);
    else rest.writeUInt32LE(value, 4 + index * 4);
  }
  return Buffer.concat([signature, rest]);
}
