import { crc32, deflateRawSync } from 'node:zlib';

export interface FileToZip {
  path: string;
  content: Buffer;
  isProgram: boolean;
}

/** 1980-01-01 00:00, the earliest time of the format, for every entry: the archive does not depend on file times. */
const noTime = 0x00210000;
const utf8Names = 0x0800;
const madeOnUnix = (3 << 8) | 20;

/**
 * Writes a ZIP archive that is byte for byte the same for the same files, whatever their order and times. Entries are
 * sorted by the bytes of their path and compressed only if that makes them smaller.
 */
export function writeZip(files: Iterable<FileToZip>): Buffer {
  const bodies: Buffer[] = [];
  const rows: Buffer[] = [];
  let at = 0;
  const inOrder = [...files].sort((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)));
  for (const { path, content, isProgram } of inOrder) {
    const name = Buffer.from(path);
    const deflated = deflateRawSync(content, { level: 9 });
    const isSmaller = deflated.length < content.length;
    const packed = isSmaller ? deflated : content;
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(utf8Names, 2);
    shared.writeUInt16LE(isSmaller ? 8 : 0, 4);
    shared.writeUInt32LE(noTime, 6);
    shared.writeUInt32LE(crc32(content), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(content.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((isProgram ? 0o100755 : 0o100644) << 16) >>> 0, 6);
    tail.writeUInt32LE(at, 10);
    const made = Buffer.alloc(2);
    made.writeUInt16LE(madeOnUnix);
    rows.push(Buffer.from('PK\x01\x02'), made, shared, tail, name);
    const body = Buffer.concat([Buffer.from('PK\x03\x04'), shared, name, packed]);
    bodies.push(body);
    at += body.length;
  }
  const directory = Buffer.concat(rows);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(inOrder.length, 8);
  end.writeUInt16LE(inOrder.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, directory, end]);
}
