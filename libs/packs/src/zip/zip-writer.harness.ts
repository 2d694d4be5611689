import { createHash } from 'node:crypto';
import { crc32, deflateRawSync } from 'node:zlib';
import type { BundleFile } from './check-bundle';

/** One entry of a zip, valid or not: its content, and what the headers declare. */
export interface WrittenEntry {
  name: string | Buffer;
  bytes?: Buffer | string;
  method?: number;
  /** Bytes in the archive, if they differ from those that the compression method produces. */
  packed?: Buffer;
  flags?: number;
  mode?: number;
  attributes?: number;
  madeBy?: number;
  extra?: Buffer;
  /** Values in the directory, or in the local header, that replace the true ones. */
  central?: Partial<DeclaredFields>;
  local?: Partial<DeclaredFields> & { name?: string; extra?: Buffer };
  descriptor?: 'signed' | 'bare' | 'wide' | Buffer;
  /** Whether sizes and position are written in fields of eight bytes. */
  zip64?: boolean;
  headerAt?: number;
}

interface DeclaredFields {
  flags: number;
  method: number;
  crc32: number;
  zippedSize: number;
  size: number;
}

export interface WrittenZip {
  before?: Buffer;
  betweenEntries?: Buffer;
  after?: Buffer;
  comment?: Buffer;
  zip64End?: boolean;
  end?: Partial<{ disk: number; entries: number; entriesHere: number; size: number; start: number; comment: number }>;
  order?: 'reversed';
}

/** Writes a zip exactly as specified. */
export function makeTestZip(entries: WrittenEntry[], options: WrittenZip = {}): Buffer {
  const { before = Buffer.alloc(0), betweenEntries = Buffer.alloc(0) } = options;
  const files: Buffer[] = [before];
  const directory: Buffer[] = [];
  let at = before.length;
  for (const entry of entries) {
    const { file, record } = encodeZipEntry(entry, at);
    files.push(file, betweenEntries);
    directory.push(record);
    at += file.length + betweenEntries.length;
  }
  if (options.order === 'reversed') directory.reverse();
  const index = Buffer.concat(directory);
  return Buffer.concat([...files, index, encodeEndRecords(entries.length, index.length, at, options)]);
}

function encodeZipEntry(entry: WrittenEntry, at: number) {
  const { bytes = '', method = 8, extra = Buffer.alloc(0), descriptor, zip64 = false } = entry;
  const { mode = 0o100644, madeBy = 0x0314, attributes = (mode << 16) >>> 0 } = entry;
  const content = Buffer.from(bytes as string);
  const packed = entry.packed ?? (method === 8 ? deflateRawSync(content) : content);
  const name = Buffer.from(entry.name as string);
  const flags = entry.flags ?? 0x800 | (descriptor ? 8 : 0);
  const truth: DeclaredFields = {
    flags,
    method,
    crc32: crc32(content),
    zippedSize: packed.length,
    size: content.length,
  };
  const later = descriptor ? { crc32: 0, zippedSize: 0, size: 0 } : {};
  const central = { ...truth, ...entry.central };
  const local = { name: name, extra, ...truth, ...later, ...entry.local };
  const encodeZip64Field = (values: number[]) =>
    encodeExtraField(1, Buffer.concat(values.map((value) => encodeUint64(value))));
  const localExtra = zip64
    ? Buffer.concat([encodeZip64Field([local.size, local.zippedSize]), local.extra])
    : local.extra;
  const headerAt = entry.headerAt ?? at;
  const centralExtra = zip64
    ? Buffer.concat([encodeZip64Field([central.size, central.zippedSize, headerAt]), extra])
    : extra;
  const localName = Buffer.from(local.name as string);
  const file = Buffer.concat([
    Buffer.from('PK\x03\x04'),
    encodeCommonHeader(local, localName.length, localExtra.length, zip64),
    localName,
    localExtra,
    packed,
    encodeDataDescriptor(truth, descriptor),
  ]);
  const tail = Buffer.alloc(14);
  tail.writeUInt32LE(attributes, 6);
  tail.writeUInt32LE(zip64 ? 0xffffffff : headerAt, 10);
  const madeByBytes = Buffer.alloc(2);
  madeByBytes.writeUInt16LE(madeBy);
  const head = [
    Buffer.from('PK\x01\x02', 'latin1'),
    madeByBytes,
    encodeCommonHeader(central, name.length, centralExtra.length, zip64),
  ];
  return { file, record: Buffer.concat([...head, tail, name, centralExtra]) };
}

function encodeCommonHeader(
  { flags, method, crc32: crc, zippedSize, size }: DeclaredFields,
  name: number,
  extra: number,
  zip64: boolean,
) {
  const bytes = Buffer.alloc(26);
  bytes.writeUInt16LE(zip64 ? 45 : 20, 0);
  bytes.writeUInt16LE(flags, 2);
  bytes.writeUInt16LE(method, 4);
  bytes.writeUInt32LE(crc, 10);
  bytes.writeUInt32LE(zip64 ? 0xffffffff : zippedSize, 14);
  bytes.writeUInt32LE(zip64 ? 0xffffffff : size, 18);
  bytes.writeUInt16LE(name, 22);
  bytes.writeUInt16LE(extra, 24);
  return bytes;
}

function encodeDataDescriptor(
  { crc32: crc, zippedSize, size }: DeclaredFields,
  kind: WrittenEntry['descriptor'],
): Buffer {
  if (kind === undefined) return Buffer.alloc(0);
  if (Buffer.isBuffer(kind)) return kind;
  const encodeUint32 = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const sizes =
    kind === 'wide' ? [encodeUint64(zippedSize), encodeUint64(size)] : [encodeUint32(zippedSize), encodeUint32(size)];
  return Buffer.concat([...(kind === 'bare' ? [] : [Buffer.from('PK\x07\x08')]), encodeUint32(crc), ...sizes]);
}

function encodeEndRecords(entries: number, size: number, start: number, options: WrittenZip): Buffer {
  const { zip64End = false, comment = Buffer.alloc(0), after = Buffer.alloc(0) } = options;
  const declared = { disk: 0, entriesHere: entries, entries, size, start, comment: comment.length, ...options.end };
  const parts: Buffer[] = [];
  if (zip64End) {
    const record = Buffer.alloc(56);
    record.write('PK\x06\x06', 'latin1');
    record.writeUInt32LE(44, 4);
    for (const [index, value] of [declared.entriesHere, declared.entries, declared.size, declared.start].entries()) {
      record.writeBigUInt64LE(BigInt(value), 24 + index * 8);
    }
    const locator = Buffer.alloc(20);
    locator.write('PK\x06\x07', 'latin1');
    locator.writeBigUInt64LE(BigInt(start + size), 8);
    locator.writeUInt32LE(1, 16);
    parts.push(record, locator);
  }
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(declared.disk, 4);
  end.writeUInt16LE(zip64End ? 0xffff : declared.entriesHere, 8);
  end.writeUInt16LE(zip64End ? 0xffff : declared.entries, 10);
  end.writeUInt32LE(zip64End ? 0xffffffff : declared.size, 12);
  end.writeUInt32LE(zip64End ? 0xffffffff : declared.start, 16);
  end.writeUInt16LE(declared.comment, 20);
  return Buffer.concat([...parts, end, comment, after]);
}

export function encodeExtraField(id: number, data: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16LE(id);
  head.writeUInt16LE(data.length, 2);
  return Buffer.concat([head, data]);
}

function encodeUint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** Returns the inventory that an honest author would write for these entries. */
export function listInventory(entries: WrittenEntry[]): BundleFile[] {
  return entries
    .map(({ name, bytes = '' }) => ({ path: name.toString(), content: Buffer.from(bytes as string) }))
    .filter(({ path }) => !path.endsWith('/'))
    .map(({ path, content }) => ({
      path,
      size: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    }));
}
