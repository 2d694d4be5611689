import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { crc32, inflateRawSync } from 'node:zlib';

export interface ZipLimits {
  bytes: number;
  entries: number;
}

const fileType = 0o170000;
const regular = 0o100000;
const directory = 0o040000;

interface ZipEntry {
  name: string;
  method: number;
  crc: number;
  packed: number;
  size: number;
  mode: number;
  at: number;
}

/** Unpacks a zip into a folder, and refuses the whole of it before the first file is written, if one name is wrong. */
export function unzip(bytes: Buffer, folder: string, limits: ZipLimits): string[] {
  const entries = readDirectory(bytes, limits);
  let total = 0;
  for (const entry of entries) {
    refuseName(entry);
    total += entry.size;
    if (total > limits.bytes) throw new Error('the zip is too large when unpacked');
  }
  const written: string[] = [];
  for (const entry of entries) {
    const target = join(folder, entry.name);
    if (entry.name.endsWith('/')) {
      mkdirSync(target, { recursive: true, mode: 0o700 });
      continue;
    }
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    // `wx`: two entries of one name would make it unclear which of them was checked.
    writeFileSync(target, contentOf(bytes, entry), { flag: 'wx', mode: 0o600 });
    if (entry.mode & 0o100) chmodSync(target, 0o700);
    written.push(entry.name);
  }
  return written;
}

function readDirectory(bytes: Buffer, limits: ZipLimits): ZipEntry[] {
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 5, 6]));
  if (end === -1 || end + 22 > bytes.length) throw new Error('this is no zip');
  const count = bytes.readUInt16LE(end + 10);
  let at = bytes.readUInt32LE(end + 16);
  if (count === 0xffff || at === 0xffffffff) throw new Error('zip64 is not taken');
  if (count > limits.entries) throw new Error('the zip has too many entries');

  const entries: ZipEntry[] = [];
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== 0x02014b50) throw new Error('the zip is damaged');
    const [nameLength, extra, comment] = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    entries.push({
      name: bytes.toString('utf8', at + 46, at + 46 + nameLength!),
      method: bytes.readUInt16LE(at + 10),
      crc: bytes.readUInt32LE(at + 16),
      packed: bytes.readUInt32LE(at + 20),
      size: bytes.readUInt32LE(at + 24),
      mode: bytes.readUInt32LE(at + 38) >>> 16,
      at: bytes.readUInt32LE(at + 42),
    });
    if (bytes.readUInt16LE(at + 8) & 1) throw new Error('an encrypted zip is not taken');
    at += 46 + nameLength! + extra! + comment!;
  }
  return entries;
}

function refuseName({ name, mode }: ZipEntry): void {
  const parts = name.replace(/\/$/, '').split('/');
  const bad =
    !name ||
    name.length > 1024 ||
    /[\0\\]|\u{FFFD}/u.test(name) ||
    /^[A-Za-z]:/.test(name) ||
    parts.some((part) => part === '' || part === '.' || part === '..');
  if (bad) throw new Error(`the zip has an entry that leads outside: ${JSON.stringify(name)}`);
  const type = mode & fileType;
  if (type && type !== regular && type !== directory) {
    throw new Error(`the zip has an entry that is neither file nor folder: ${JSON.stringify(name)}`);
  }
}

function contentOf(bytes: Buffer, { name, method, crc, packed, size, at }: ZipEntry): Buffer {
  if (at + 30 > bytes.length || bytes.readUInt32LE(at) !== 0x04034b50) throw new Error('the zip is damaged');
  const start = at + 30 + bytes.readUInt16LE(at + 26) + bytes.readUInt16LE(at + 28);
  const raw = bytes.subarray(start, start + packed);
  if (method !== 0 && method !== 8) throw new Error(`the zip uses a compression that is not taken (${method})`);
  // The announced size is a limit: a bomb stops there.
  const content = method === 0 ? raw : size ? inflateRawSync(raw, { maxOutputLength: size }) : Buffer.alloc(0);
  if (content.length !== size || crc32(content) !== crc) throw new Error(`the zip is damaged at ${name}`);
  return content;
}
