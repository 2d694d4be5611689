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
export async function unzip(bytes: Uint8Array<ArrayBuffer>): Promise<ZipEntry[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEndRecord(view);
  const entries: ZipEntry[] = [];
  let unpacked = 0;
  let at = numberAt(view, end + 16);
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (numberAt(view, at) !== entrySignature) throw bundleError('The list of files in this zip is damaged.');
    const [flags, method] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)];
    const [packedSize, size] = [numberAt(view, at + 20), numberAt(view, at + 24)];
    const [nameSize, extraSize, noteSize] = [28, 30, 32].map((place) => view.getUint16(at + place, true)) as Three;
    const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + nameSize));
    const part = numberAt(view, at + 42);
    at += 46 + nameSize + extraSize + noteSize;
    if (path.endsWith('/')) continue;
    if (flags & 1) throw bundleError(`${path} is encrypted.`);
    unpacked += size;
    if (unpacked > mostUnpacked) throw bundleError('The unpacked zip is larger than 512 MiB.');
    if (numberAt(view, part) !== partSignature) throw bundleError(`${path} was not found at its offset in the zip.`);
    const from = part + 30 + view.getUint16(part + 26, true) + view.getUint16(part + 28, true);
    const packed = bytes.subarray(from, from + packedSize);
    entries.push({ path, content: await unpack(packed, { path, method, size }) });
  }
  return entries;
}

/** Makes a zip. A file is compressed only if that makes it smaller. */
export async function zip(entries: readonly ZipEntry[]): Promise<Blob> {
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
      ...uint16Bytes(20),
      ...uint16Bytes(utf8Names),
      ...uint16Bytes(isSmaller ? 8 : 0),
      ...uint16Bytes(0),
      ...uint16Bytes(firstDay),
      ...uint32Bytes(crc32(content)),
      ...uint32Bytes(packed.length),
      ...uint32Bytes(content.length),
      ...uint16Bytes(name.length),
      ...uint16Bytes(0),
    ];
    const part = new Uint8Array([...uint32Bytes(partSignature), ...common]);
    const place = [
      ...uint16Bytes(0),
      ...uint16Bytes(0),
      ...uint16Bytes(0),
      ...uint32Bytes((0o100644 << 16) >>> 0),
      ...uint32Bytes(at),
    ];
    const entry = new Uint8Array([...uint32Bytes(entrySignature), 20, 3, ...common, ...place]);
    parts.push(part, name, packed);
    list.push(entry, name);
    at += part.length + name.length + packed.length;
    listSize += entry.length + name.length;
  }
  const count = uint16Bytes(entries.length);
  const end = [
    ...uint32Bytes(endSignature),
    0,
    0,
    0,
    0,
    ...count,
    ...count,
    ...uint32Bytes(listSize),
    ...uint32Bytes(at),
    0,
    0,
  ];
  return new Blob([...parts, ...list, new Uint8Array(end)], { type: 'application/zip' });
}

type Three = [number, number, number];

function findEndRecord(view: DataView): number {
  const oldest = Math.max(0, view.byteLength - 22 - 0xffff);
  for (let at = view.byteLength - 22; at >= oldest; at -= 1) if (numberAt(view, at) === endSignature) return at;
  throw bundleError('This file is not a zip, or it is incomplete.');
}

async function unpack(
  packed: Uint8Array<ArrayBuffer>,
  { path, method, size }: { path: string; method: number; size: number },
): Promise<Uint8Array<ArrayBuffer>> {
  if (method === 0) return packed;
  if (method !== 8) throw bundleError(`${path} uses an unsupported compression method. Use Deflate.`);
  const content = await transformBytes(new DecompressionStream('deflate-raw'), packed, size).catch(() => null);
  if (content?.length !== size) throw bundleError(`${path} is damaged.`);
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

function numberAt(view: DataView, at: number): number {
  return at >= 0 && at + 4 <= view.byteLength ? view.getUint32(at, true) : 0;
}

function uint16Bytes(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff];
}

function uint32Bytes(value: number): number[] {
  return [...uint16Bytes(value & 0xffff), ...uint16Bytes(value >>> 16)];
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

function crc32(content: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of content) crc = (crc >>> 8) ^ crcTable[(crc ^ byte) & 0xff]!;
  return (crc ^ 0xffffffff) >>> 0;
}

function bundleError(detail: string): ApiError {
  return new ApiError(422, { code: 'bundle_rejected', detail });
}
