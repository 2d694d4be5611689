import { bundleRejectedError } from './bundle-faults';
import { readUint64 } from './zip-bytes';

const zip64 = 0x0001;
const unicodePath = 0x7075;

export interface ExtraFields {
  zip64?: Buffer;
  /**
   * Extra field with another name of the entry (a Unicode path), which some programs use instead of the entry's name.
   */
  unicodePath?: Buffer;
}

export function parseExtraFields(bytes: Buffer, path: string): ExtraFields {
  const fields: ExtraFields = {};
  for (let at = 0; at < bytes.length;) {
    // Some programs append a few zeros after the last field.
    if (bytes.length - at < 4) {
      if (bytes.subarray(at).some((byte) => byte !== 0)) throw bundleRejectedError('not_a_zip', path);
      break;
    }
    const [id, size] = [bytes.readUInt16LE(at), bytes.readUInt16LE(at + 2)];
    at += 4;
    if (at + size > bytes.length) throw bundleRejectedError('not_a_zip', path);
    const data = bytes.subarray(at, at + size);
    at += size;
    if (id === zip64) {
      if (fields.zip64) throw bundleRejectedError('not_a_zip', path);
      fields.zip64 = data;
    }
    // The field has one byte of version, four bytes of checksum, and the name.
    if (id === unicodePath) fields.unicodePath = data.subarray(5);
  }
  return fields;
}

/** Replaces each value that did not fit into four bytes by the next value of the zip64 field. */
export function applyZip64Values(values: number[], extra: ExtraFields, path: string): number[] {
  let at = 0;
  return values.map((value) => {
    if (value !== 0xffffffff) return value;
    const field = extra.zip64;
    if (!field || at + 8 > field.length) throw bundleRejectedError('not_a_zip', path);
    at += 8;
    return readUint64(field, at - 8);
  });
}
