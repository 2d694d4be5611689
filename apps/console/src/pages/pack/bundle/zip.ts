import { ApiError } from '../../../api/api-error';

export interface ZipEntry {
  path: string;
  content: Uint8Array<ArrayBuffer>;
}

const endSignature = 0x06054b50;
const entrySignature = 0x02014b50;
const partSignature = 0x04034b50;
const mostUnpacked = 512 * 1024 * 1024;
const utf8Names = 0x800;
/** 1 January 1980, the earliest date in a zip. A constant date makes the zips of equal files identical. */
const firstDay = 0x21;

/** Reads the files of a zip without its folders. The service validates the zip again. */
export async function readZip(bytes: Uint8Array<ArrayBuffer>): Promise<ZipEntry[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEndRecord(view);
  const entries: ZipEntry[] = [];
  let unpacked = 0;
  let at = readUint32At(view, end + 16);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (readUint32At(view, at) !== entrySignature)
      throw createBundleError('The list of files in this zip is damaged. Create the zip again.');
    const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
    const [packedSize, size] = [readUint32At(view, at + 20), readUint32At(view, at + 24)];
    const [nameSize, extraSize, noteSize] = [28, 30, 32].map((place) => view.getUint16(at + place, true)) as Three;
    const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameSize));
    const part = readUint32At(view, at + 42);
    at += 46 + nameSize + extraSize + noteSize;
    if (path.endsWith('/')) continue;
    if (flags & 1) throw createBundleError(`${path} is encrypted. Create the zip without a password.`);
    unpacked += size;
    if (unpacked > mostUnpacked)
      throw createBundleError('The unpacked zip is larger than 512 MiB. Remove files from the zip.');
    if (readUint32At(view, part) !== partSignature)
      throw createBundleError(`${path} was not found at its offset in the zip.`);
    const from = part + 30 + view.getUint16(part + 26, true) + view.getUint16(part + 28, true);
    const packed = bytes.subarray(from, from + packedSize);
    entries.push({ path, content: await unpackEntry(packed, { path, method, size }) });
  }
  return entries;
}

/** Makes a zip. A file is compressed only if that makes it smaller. */
export async function makeZip(entries: readonly ZipEntry[]): Promise<Blob> {
  const parts: BlobPart[] = [];
  const list: BlobPart[] = [];
  let at = 0;
  let listSize = 0;
  for (const { path, content } of entries) {
    const name = new TextEncoder().encode(path);
    const deflated = await transformBytes(new CompressionStream('deflate-raw'), content);
    const isSmaller = deflated.length < content.length;
    const packed = isSmaller ? deflated : content;
    const common = [
      ...toUint16Bytes(20),
      ...toUint16Bytes(utf8Names),
      ...toUint16Bytes(isSmaller ? 8 : 0),
      ...toUint16Bytes(0),
      ...toUint16Bytes(firstDay),
      ...toUint32Bytes(computeCrc32(content)),
      ...toUint32Bytes(packed.length),
      ...toUint32Bytes(content.length),
      ...toUint16Bytes(name.length),
      ...toUint16Bytes(0),
    ];
    const part = new Uint8Array([...toUint32Bytes(partSignature), ...common]);
    const place = [
      ...toUint16Bytes(0),
      ...toUint16Bytes(0),
      ...toUint16Bytes(0),
      ...toUint32Bytes((0o100644 << 16) >>> 0),
      ...toUint32Bytes(at),
    ];
    const entry = new Uint8Array([...toUint32Bytes(entrySignature), 20, 3, ...common, ...place]);
    parts.push(part, name, packed);
    list.push(entry, name);
    at += part.length + name.length + packed.length;
    listSize += entry.length + name.length;
  }
  const count = toUint16Bytes(entries.length);
  const end = [
    ...toUint32Bytes(endSignature),
    0,
    0,
    0,
    0,
    ...count,
    ...count,
    ...toUint32Bytes(listSize),
    ...toUint32Bytes(at),
    0,
    0,
  ];
  return new Blob([...parts, ...list, new Uint8Array(end)], { type: 'application/zip' });
}

type Three = [number, number, number];

function findEndRecord(view: DataView): number {
  const oldest = Math.max(0, view.byteLength - 22 - 0xffff);
  for (let at = view.byteLength - 22; at >= oldest; at -= 1) if (readUint32At(view, at) === endSignature) return at;
  throw createBundleError('This file is not a zip, or it is incomplete. Choose another file.');
}

async function unpackEntry(
  packed: Uint8Array<ArrayBuffer>,
  { path, method, size }: { path: string; method: number; size: number },
): Promise<Uint8Array<ArrayBuffer>> {
  if (method === 0) return packed;
  if (method !== 8) throw createBundleError(`${path} uses an unsupported compression method. Use Deflate.`);
  const content = await transformBytes(new DecompressionStream('deflate-raw'), packed, size).catch(() => null);
  if (content?.length !== size) throw createBundleError(`${path} is damaged. Create the zip again.`);
  return content;
}

/** Returns the bytes transformed by the stream. Stops reading once the output has more than `most` bytes. */
async function transformBytes(
  stream: CompressionStream | DecompressionStream,
  bytes: Uint8Array<ArrayBuffer>,
  most = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough<Uint8Array<ArrayBuffer>>(stream).getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    parts.push(next.value);
    length += next.value.length;
    if (length > most) {
      await reader.cancel();
      break;
    }
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function readUint32At(view: DataView, at: number): number {
  return at >= 0 && at + 4 <= view.byteLength ? view.getUint32(at, true) : 0;
}

function toUint16Bytes(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff];
}

function toUint32Bytes(value: number): number[] {
  return [...toUint16Bytes(value & 0xffff), ...toUint16Bytes(value >>> 16)];
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function computeCrc32(content: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of content) crc = (crc >>> 8) ^ crcTable[(crc ^ byte) & 0xff]!;
  return (crc ^ 0xffffffff) >>> 0;
}

function createBundleError(detail: string): ApiError {
  return new ApiError(422, { code: 'bundle_rejected', detail });
}
