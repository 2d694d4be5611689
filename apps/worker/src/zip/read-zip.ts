import { ZipFault } from './zip-fault';

export interface ZipLimits {
  /** Maximum number of bytes of all files together, unpacked. */
  bytes: number;
  entries: number;
  /** Maximum ratio of the unpacked size to the zip's own size; does not apply to small zips. */
  ratio?: number;
}

export interface ZipEntry {
  name: string;
  isFolder: boolean;
  isProgram: boolean;
  method: number;
  crc: number;
  size: number;
  /** The bytes of the entry as they are in the zip, still compressed. */
  packed: Buffer;
}

interface Row extends Omit<ZipEntry, 'packed'> {
  rawName: Buffer;
  mode: number;
  packedSize: number;
  at: number;
}

const fileType = 0o170000;
const [regular, directory, symbolicLink] = [0o100000, 0o040000, 0o120000];
const ratioFromBytes = 10 * 1024 * 1024;

/** Returns the entries of a zip. Throws if any name, kind or size is wrong, or if two entries share bytes. */
export function readZip(bytes: Buffer, limits: ZipLimits): ZipEntry[] {
  const directory = findCentralDirectory(bytes);
  if (directory.count > limits.entries) throw new ZipFault('too_many_entries', '', `${directory.count}`);
  const rows = readDirectoryRows(bytes, directory);
  let total = 0;
  for (const row of rows) {
    throwIfNameUnsafe(row.name);
    throwIfKindUnsupported(row);
    total += row.size;
    if (total > limits.bytes) throw new ZipFault('too_large', row.name);
  }
  if (limits.ratio && total > ratioFromBytes && total > limits.ratio * bytes.length) throw new ZipFault('ratio', '');
  throwIfNamesCollide(rows);
  return locateEntryContents(bytes, rows, directory.at);
}

interface Directory {
  at: number;
  end: number;
  count: number;
}

function findCentralDirectory(bytes: Buffer): Directory {
  const end = findEndRecord(bytes);
  let [count, size, at] = [bytes.readUInt16LE(end + 10), bytes.readUInt32LE(end + 12), bytes.readUInt32LE(end + 16)];
  if (count === 0xffff || size === 0xffffffff || at === 0xffffffff) {
    // Some programs write every zip that they stream in the ZIP64 format, even a small one.
    const locator = end - 20;
    if (locator < 0 || bytes.readUInt32LE(locator) !== 0x07064b50) throw new ZipFault('truncated', '');
    const large = readUint64(bytes, locator + 8);
    if (large + 56 > locator || bytes.readUInt32LE(large) !== 0x06064b50) throw new ZipFault('truncated', '');
    [count, size, at] = [readUint64(bytes, large + 32), readUint64(bytes, large + 40), readUint64(bytes, large + 48)];
  }
  if (at + size > end) throw new ZipFault('truncated', '');
  return { at, end: at + size, count };
}

/** Finds the end record, which must be at the end of the bytes. Otherwise two readers could see different zips. */
function findEndRecord(bytes: Buffer): number {
  const signature = Buffer.from([0x50, 0x4b, 5, 6]);
  const first = Math.max(0, bytes.length - 22 - 0xffff);
  for (let at = bytes.lastIndexOf(signature); at >= first; at = at ? bytes.lastIndexOf(signature, at - 1) : -1) {
    if (at + 22 <= bytes.length && at + 22 + bytes.readUInt16LE(at + 20) === bytes.length) return at;
  }
  throw new ZipFault(bytes.toString('latin1', 0, 4) === 'PK\x03\x04' ? 'truncated' : 'not_a_zip', '');
}

function readDirectoryRows(bytes: Buffer, { at: first, end, count }: Directory): Row[] {
  const rows: Row[] = [];
  let at = first;
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== 0x02014b50) throw new ZipFault('truncated', '');
    const [nameLength, extraLength, commentLength] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    const afterName = at + 46 + nameLength!;
    const next = afterName + extraLength! + commentLength!;
    if (next > end) throw new ZipFault('truncated', '');
    const rawName = bytes.subarray(at + 46, afterName);
    const name = decodeName(rawName);
    // The flags mean: encrypted, strongly encrypted, or with an encrypted directory.
    if (bytes.readUInt16LE(at + 8) & 0x2041) throw new ZipFault('encrypted', name);
    const mode = bytes.readUInt32LE(at + 38) >>> 16;
    const [packedSize, size, offset] = readSizes(bytes, at, bytes.subarray(afterName, afterName + extraLength!));
    rows.push({
      rawName,
      name,
      isFolder: name.endsWith('/'),
      isProgram: (mode & 0o100) !== 0,
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      mode,
      packedSize,
      size,
      at: offset,
    });
    at = next;
  }
  if (at !== end) throw new ZipFault('truncated', '');
  return rows;
}

/**
 * Returns the packed size, the size and the offset of an entry. Values that do not fit into 32 bits are in the ZIP64
 * extra field, in the order size, packed size, offset.
 */
function readSizes(bytes: Buffer, at: number, extra: Buffer): [packed: number, size: number, offset: number] {
  const values = {
    size: bytes.readUInt32LE(at + 24),
    packed: bytes.readUInt32LE(at + 20),
    offset: bytes.readUInt32LE(at + 42),
  };
  let large: Buffer | undefined;
  for (let from = 0; from + 4 <= extra.length; from += 4 + extra.readUInt16LE(from + 2)) {
    if (extra.readUInt16LE(from) === 1) large ??= extra.subarray(from + 4, from + 4 + extra.readUInt16LE(from + 2));
  }
  let used = 0;
  for (const name of ['size', 'packed', 'offset'] as const) {
    if (values[name] !== 0xffffffff) continue;
    if (!large || used + 8 > large.length) throw new ZipFault('truncated', '');
    values[name] = readUint64(large, used);
    used += 8;
  }
  return [values.packed, values.size, values.offset];
}

/**
 * Reads a 64-bit number. A value that a JavaScript number cannot represent exactly is larger than every zip that is
 * read here.
 */
function readUint64(bytes: Buffer, at: number): number {
  return at + 8 <= bytes.length ? Number(bytes.readBigUInt64LE(at)) : Infinity;
}

function decodeName(raw: Buffer): string {
  const text = raw.toString('utf8');
  if (!Buffer.from(text).equals(raw)) throw new ZipFault('bad_name', text);
  return text;
}

function throwIfNameUnsafe(name: string): void {
  const parts = name.replace(/\/$/, '').split('/');
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) throw new ZipFault('absolute_path', name);
  if (parts.includes('..') || /(^|[\\/])\.\.([\\/]|$)/.test(name)) throw new ZipFault('parent_path', name);
  const bad =
    !name ||
    // eslint-disable-next-line no-control-regex
    /[\0-\x1f\x7f-\x9f\\]/.test(name) ||
    name !== name.normalize('NFC') ||
    parts.some((part) => part === '' || part === '.' || Buffer.byteLength(part) > 255);
  if (bad) throw new ZipFault('bad_name', name);
}

function throwIfKindUnsupported({ name, mode }: Row): void {
  const type = mode & fileType;
  if (type === symbolicLink) throw new ZipFault('link', name);
  if (type && type !== regular && type !== directory) throw new ZipFault('device', name);
}

/** Refuses repeated names, a file with the name of another entry's folder, and names that differ only in case. */
function throwIfNamesCollide(rows: Row[]): void {
  const files = new Set<string>();
  const folders = new Set<string>();
  const folded = new Map<string, string>();
  for (const { name, isFolder } of rows) {
    const path = name.replace(/\/$/, '');
    if (isFolder ? folders.has(`${path}/`) : files.has(path)) throw new ZipFault('duplicate_path', name);
    if (isFolder) folders.add(`${path}/`);
    else files.add(path);
    const same = folded.get(path.toLowerCase());
    if (same !== undefined && same !== path)
      throw new ZipFault('case_collision', name, `the other name is ${JSON.stringify(same)}`);
    folded.set(path.toLowerCase(), path);
  }
  for (const { name } of rows) {
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) {
      if (files.has(name.slice(0, at))) throw new ZipFault('duplicate_path', name.slice(0, at));
    }
  }
}

/** Returns the entries with their bytes. If entries could share bytes, a small zip could unpack to petabytes. */
function locateEntryContents(bytes: Buffer, rows: Row[], end: number): ZipEntry[] {
  const ends = new Map<Row, number>();
  const entries = rows.map((row): ZipEntry => {
    const { at, rawName, packedSize, name, isFolder, isProgram, method, crc, size } = row;
    if (at + 30 + rawName.length > end || bytes.readUInt32LE(at) !== 0x04034b50) throw new ZipFault('truncated', name);
    const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
    const isNamed = bytes.subarray(at + 30, at + 30 + bytes.readUInt16LE(at + 26)).equals(rawName);
    if (!isNamed) throw new ZipFault('bad_name', name, 'its local header has another name');
    if (start + packedSize > end) throw new ZipFault('truncated', name);
    if (method !== 0 && method !== 8)
      throw new ZipFault('truncated', name, `compression method ${method} is not supported`);
    ends.set(row, start + packedSize);
    return { name, isFolder, isProgram, method, crc, size, packed: bytes.subarray(start, start + packedSize) };
  });
  const inOrder = [...rows].sort((a, b) => a.at - b.at);
  inOrder.slice(1).forEach((row, index) => {
    if (ends.get(inOrder[index]!)! > row.at) throw new ZipFault('size_mismatch', row.name, 'entries share bytes');
  });
  return entries;
}
