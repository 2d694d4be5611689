import { rejected } from './bundle-faults';
import { readLong, type ZipBytes } from './zip-bytes';
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
  const beginsAsZip = size >= 4 && (await zip.read(0, 4)).readUInt32LE(0) === signature.local;
  const tailSize = Math.min(size, endBytes + maxComment);
  const tail = await zip.read(size - tailSize, tailSize);
  const at = findEnd(tail);
  if (at === null) throw rejected(beginsAsZip ? 'truncated' : 'not_a_zip');
  const end = tail.subarray(at);
  // No bytes may follow the end record.
  if (end.readUInt16LE(20) !== end.length - endBytes) throw rejected('not_a_zip');
  const short = {
    disk: end.readUInt16LE(4),
    directoryDisk: end.readUInt16LE(6),
    entriesHere: end.readUInt16LE(8),
    entries: end.readUInt16LE(10),
    size: end.readUInt32LE(12),
    start: end.readUInt32LE(16),
  };
  const endAt = size - tailSize + at;
  const long = await readEnd64(zip, endAt);
  const {
    disk,
    directoryDisk,
    entriesHere,
    entries,
    size: bytes,
    start,
  } = long ? checkedZip64Record(short, long.record) : short;
  if (disk !== 0 || directoryDisk !== 0 || entriesHere !== entries) throw rejected('not_a_zip');
  if (entries > zipLimits.entries) throw rejected('too_many_entries');
  if (bytes > zipLimits.directoryBytes) throw rejected('too_large');
  if (start + bytes !== (long?.at ?? endAt)) throw rejected('not_a_zip');
  return { start, size: bytes, entries };
}

/** Finds the last end record, because the files of a bundle may be zips themselves. */
function findEnd(tail: Buffer): number | null {
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

async function readEnd64(zip: ZipBytes, endAt: number): Promise<{ record: EndRecord; at: number } | null> {
  if (endAt < locatorBytes) return null;
  const locator = await zip.read(endAt - locatorBytes, locatorBytes);
  if (locator.readUInt32LE(0) !== signature.locator) return null;
  const at = readLong(locator, 8);
  if (locator.readUInt32LE(4) !== 0 || locator.readUInt32LE(16) > 1) throw rejected('not_a_zip');
  if (at + end64Bytes !== endAt - locatorBytes) throw rejected('not_a_zip');
  const record = await zip.read(at, end64Bytes);
  if (record.readUInt32LE(0) !== signature.end64 || readLong(record, 4) !== end64Bytes - 12)
    throw rejected('not_a_zip');
  return {
    at,
    record: {
      disk: record.readUInt32LE(16),
      directoryDisk: record.readUInt32LE(20),
      entriesHere: readLong(record, 24),
      entries: readLong(record, 32),
      size: readLong(record, 40),
      start: readLong(record, 48),
    },
  };
}

/**
 * Returns the zip64 end record. Each field of the short record must have the same value, or the value that refers to
 * zip64.
 */
function checkedZip64Record(short: EndRecord, long: EndRecord): EndRecord {
  const beyond: EndRecord = {
    ...{ disk: 0xffff, directoryDisk: 0xffff, entriesHere: 0xffff, entries: 0xffff },
    ...{ size: 0xffffffff, start: 0xffffffff },
  };
  for (const name of Object.keys(beyond) as (keyof EndRecord)[]) {
    if (short[name] !== beyond[name] && short[name] !== long[name]) throw rejected('not_a_zip');
  }
  return long;
}
