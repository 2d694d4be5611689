import { bundleRejectedError } from './bundle-faults';
import { readUint64, type ZipBytes } from './zip-bytes';
import { zipLimits } from './zip-limits';

/** Position of the central directory, and its number of entries. */
export interface DirectoryLocation {
  start: number;
  size: number;
  entries: number;
}

const endBytes = 22;
const maxComment = 0xffff;
const locatorBytes = 20;
const end64Bytes = 56;
const signature = { local: 0x04034b50, end: 0x06054b50, locator: 0x07064b50, end64: 0x06064b50 };

/**
 * Finds the end record of the archive. It must end with the file, and must agree with the zip64 end record if there is
 * one.
 */
export async function findDirectory(zip: ZipBytes): Promise<DirectoryLocation> {
  const { size } = zip;
  const beginsAsZip = size >= 4 && (await zip.readBytes(0, 4)).readUInt32LE(0) === signature.local;
  const tailSize = Math.min(size, endBytes + maxComment);
  const tail = await zip.readBytes(size - tailSize, tailSize);
  const at = findEndRecord(tail);
  if (at === null) throw bundleRejectedError(beginsAsZip ? 'truncated' : 'not_a_zip');
  const end = tail.subarray(at);
  // A zip with bytes after its end record is rejected.
  if (end.readUInt16LE(20) !== end.length - endBytes) throw bundleRejectedError('not_a_zip');
  const short = {
    disk: end.readUInt16LE(4),
    directoryDisk: end.readUInt16LE(6),
    entriesHere: end.readUInt16LE(8),
    entries: end.readUInt16LE(10),
    size: end.readUInt32LE(12),
    start: end.readUInt32LE(16),
  };
  const endAt = size - tailSize + at;
  const long = await readZip64EndRecord(zip, endAt);
  const {
    disk,
    directoryDisk,
    entriesHere,
    entries,
    size: bytes,
    start,
  } = long ? mergeZip64Record(short, long.record) : short;
  if (disk !== 0 || directoryDisk !== 0 || entriesHere !== entries) throw bundleRejectedError('not_a_zip');
  if (entries > zipLimits.entries) throw bundleRejectedError('too_many_entries');
  if (bytes > zipLimits.directoryBytes) throw bundleRejectedError('too_large');
  if (start + bytes !== (long?.at ?? endAt)) throw bundleRejectedError('not_a_zip');
  return { start, size: bytes, entries };
}

/** Finds the last end record, because the files of a bundle may be zips themselves. */
function findEndRecord(tail: Buffer): number | null {
  for (let at = tail.length - endBytes; at >= 0; at -= 1) if (tail.readUInt32LE(at) === signature.end) return at;
  return null;
}

type EndRecord = {
  disk: number;
  directoryDisk: number;
  entriesHere: number;
  entries: number;
  size: number;
  start: number;
};

async function readZip64EndRecord(zip: ZipBytes, endAt: number): Promise<{ record: EndRecord; at: number } | null> {
  if (endAt < locatorBytes) return null;
  const locator = await zip.readBytes(endAt - locatorBytes, locatorBytes);
  if (locator.readUInt32LE(0) !== signature.locator) return null;
  const at = readUint64(locator, 8);
  if (locator.readUInt32LE(4) !== 0 || locator.readUInt32LE(16) > 1) throw bundleRejectedError('not_a_zip');
  if (at + end64Bytes !== endAt - locatorBytes) throw bundleRejectedError('not_a_zip');
  const record = await zip.readBytes(at, end64Bytes);
  if (record.readUInt32LE(0) !== signature.end64 || readUint64(record, 4) !== end64Bytes - 12)
    throw bundleRejectedError('not_a_zip');
  return {
    at,
    record: {
      disk: record.readUInt32LE(16),
      directoryDisk: record.readUInt32LE(20),
      entriesHere: readUint64(record, 24),
      entries: readUint64(record, 32),
      size: readUint64(record, 40),
      start: readUint64(record, 48),
    },
  };
}

/**
 * Returns the zip64 end record. Each field of the short record must have the same value, or the value that refers to
 * zip64.
 */
function mergeZip64Record(short: EndRecord, long: EndRecord): EndRecord {
  const beyond: EndRecord = {
    ...{ disk: 0xffff, directoryDisk: 0xffff, entriesHere: 0xffff, entries: 0xffff },
    ...{ size: 0xffffffff, start: 0xffffffff },
  };
  for (const name of Object.keys(beyond) as (keyof EndRecord)[]) {
    if (short[name] !== beyond[name] && short[name] !== long[name]) throw bundleRejectedError('not_a_zip');
  }
  return long;
}
