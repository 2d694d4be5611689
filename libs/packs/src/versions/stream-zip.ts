import { crc32 } from 'node:zlib';

export interface StoredFile {
  name: string;
  size: number;
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

const version = 20;
/**
 * Flags of each zip entry: its checksum follows its bytes, because the checksum is known only after they are written,
 * and its name is UTF-8.
 */
const flags = 0x808;

/** Writes a zip of stored files as a stream, one file after the other. */
export async function* streamZip(files: readonly StoredFile[]): AsyncGenerator<Buffer> {
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, size, chunks } of files) {
    const title = Buffer.from(name);
    const header = Buffer.concat([Buffer.from('PK\x03\x04'), encodeCommonHeader(0, size, title.length), title]);
    yield header;
    let [sum, sent] = [0, 0];
    for await (const chunk of chunks) {
      sum = crc32(chunk, sum);
      sent += chunk.length;
      yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length);
    }
    if (sent !== size) throw new Error(`${name} has ${sent} bytes instead of ${size}`);
    const descriptor = encodeUint32s([0x08074b50, sum, size, size]);
    yield descriptor;
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((0o100644 << 16) >>> 0, 6);
    tail.writeUInt32LE(at, 10);
    directory.push(
      Buffer.from('PK\x01\x02\x14\x03', 'latin1'),
      encodeCommonHeader(sum, size, title.length),
      tail,
      title,
    );
    at += header.length + size + descriptor.length;
  }
  const index = Buffer.concat(directory);
  const counts = Buffer.alloc(8);
  counts.writeUInt16LE(files.length, 4);
  counts.writeUInt16LE(files.length, 6);
  yield Buffer.concat([index, Buffer.from('PK\x05\x06'), counts, encodeUint32s([index.length, at]), Buffer.alloc(2)]);
}

function encodeCommonHeader(sum: number, size: number, nameLength: number): Buffer {
  const bytes = Buffer.alloc(26);
  bytes.writeUInt16LE(version, 0);
  bytes.writeUInt16LE(flags, 2);
  bytes.writeUInt32LE(sum, 10);
  bytes.writeUInt32LE(size, 14);
  bytes.writeUInt32LE(size, 18);
  bytes.writeUInt16LE(nameLength, 22);
  return bytes;
}

function encodeUint32s(values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, 4 * index);
  return bytes;
}
