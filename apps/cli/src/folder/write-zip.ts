import { crc32, deflateRawSync } from 'node:zlib';

export interface FileToZip {
  path: string;
  content: Buffer;
  isProgram: boolean;
}

/** 1980-01-01 00:00, the earliest time of the format. Replaces all file times, so that equal files give equal bytes. */
const noTime = 0x00210000;
const utf8Names = 0x0800;

/** Creates a zip whose bytes depend only on the paths, contents and modes of the files. */
export function writeZip(files: FileToZip[]): Buffer {
  const bodies: Buffer[] = [];
  const rows: Buffer[] = [];
  let at = 0;
  const inOrder = [...files].sort((one, other) => Buffer.compare(Buffer.from(one.path), Buffer.from(other.path)));
  for (const { path, content, isProgram } of inOrder) {
    const name = Buffer.from(path);
    const deflated = deflateRawSync(content, { level: 9 });
    const packed = deflated.length < content.length ? deflated : content;
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(utf8Names, 2);
    shared.writeUInt16LE(packed === deflated ? 8 : 0, 4);
    shared.writeUInt32LE(noTime, 6);
    shared.writeUInt32LE(crc32(content), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(content.length, 18);
    shared.writeUInt16LE(name.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(((isProgram ? 0o100755 : 0o100644) << 16) >>> 0, 6);
    place.writeUInt32LE(at, 10);
    // The byte 3 is the host system Unix, which the file modes require.
    rows.push(Buffer.from([0x50, 0x4b, 1, 2, 20, 3]), shared, place, name);
    const body = Buffer.concat([Buffer.from([0x50, 0x4b, 3, 4]), shared, name, packed]);
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
