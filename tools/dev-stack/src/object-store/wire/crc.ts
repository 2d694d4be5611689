import { crc32 } from 'node:zlib';

/** A running checksum; `digest` is big-endian, the way S3 encodes it in base64. */
export interface Checksummer {
  update(chunk: Buffer): void;
  digest(): Buffer;
}

export class Crc32 implements Checksummer {
  private value = 0;

  update(chunk: Buffer): void {
    this.value = crc32(chunk, this.value);
  }

  digest(): Buffer {
    return bigEndian32(this.value);
  }
}

export class Crc32c implements Checksummer {
  private state = 0xffffffff;

  update(chunk: Buffer): void {
    let state = this.state;
    for (let i = 0; i < chunk.length; i += 1) {
      state = (state >>> 8) ^ CRC32C_TABLE[(state ^ chunk[i]!) & 0xff]!;
    }
    this.state = state;
  }

  digest(): Buffer {
    return bigEndian32((this.state ^ 0xffffffff) >>> 0);
  }
}

/** Two 32-bit halves instead of a bigint: a bigint per byte would be some hundred times slower. */
export class Crc64Nvme implements Checksummer {
  private high = 0xffffffff;
  private low = 0xffffffff;

  update(chunk: Buffer): void {
    let { high, low } = this;
    for (let i = 0; i < chunk.length; i += 1) {
      const index = (low ^ chunk[i]!) & 0xff;
      low = ((low >>> 8) | (high << 24)) ^ CRC64_LOW[index]!;
      high = (high >>> 8) ^ CRC64_HIGH[index]!;
    }
    this.high = high;
    this.low = low;
  }

  digest(): Buffer {
    return Buffer.concat([bigEndian32(~this.high >>> 0), bigEndian32(~this.low >>> 0)]);
  }
}

const CRC32C_TABLE = Uint32Array.from(reflectedTable(0x82f63b78n), Number);
const CRC64_TABLE = reflectedTable(0x9a6c9329ac4bc9b5n);
const CRC64_HIGH = Uint32Array.from(CRC64_TABLE, (entry) => Number(entry >> 32n));
const CRC64_LOW = Uint32Array.from(CRC64_TABLE, (entry) => Number(entry & 0xffffffffn));

function reflectedTable(polynomial: bigint): bigint[] {
  return Array.from({ length: 256 }, (_, byte) => {
    let entry = BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1) entry = (entry >> 1n) ^ ((entry & 1n) * polynomial);
    return entry;
  });
}

function bigEndian32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
