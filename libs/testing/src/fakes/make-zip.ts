import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  name: string;
  content?: Buffer | string;
  /** Unix file type and permissions. */
  mode?: number;
  /** Compression level from 0 to 9. */
  level?: number;
  /** Size that the entry states, if it differs from the real size. */
  claimedSize?: number;
  /** Checksum that the entry states, if it differs from that of its content. */
  claimedCrc32?: number;
  flags?: number;
}

/** Returns a zip of the entries in their order, valid or with the requested faults. */
export function makeZip(entries: ZipEntry[]): Buffer {
  const bodies: Buffer[] = [];
  const rows: Buffer[] = [];
  let offset = 0;
  for (const { name, content = '', mode = 0o100644, level, claimedSize, claimedCrc32, flags = 0 } of entries) {
    const packed = deflateRawSync(content, { level });
    const path = Buffer.from(name);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(0x800 | flags, 2);
    shared.writeUInt16LE(8, 4);
    shared.writeUInt32LE(claimedCrc32 ?? crc32(content), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(claimedSize ?? Buffer.byteLength(content), 18);
    shared.writeUInt16LE(path.length, 22);
    const body = Buffer.concat([Buffer.from('PK\x03\x04'), shared, path, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((mode << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    rows.push(Buffer.from('PK\x01\x02\x14\x03'), shared, tail, path);
    bodies.push(body);
    offset += body.length;
  }
  const directory = Buffer.concat(rows);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, directory, end]);
}
