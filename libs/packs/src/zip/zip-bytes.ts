import type { FileHandle } from 'node:fs/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { bundleRejectedError } from './bundle-faults';

const windowBytes = 256 * 1024;
const turnMs = 8;

/** Reads bytes of a zip at any position. Small reads near each other share one file read. */
export class ZipBytes {
  private window: Buffer = Buffer.alloc(0);
  private windowAt = 0;
  private turnStartedAt = performance.now();

  constructor(
    private readonly file: FileHandle,
    readonly size: number,
  ) {}

  /** Returns `length` bytes from `position`. Rejects a zip that refers to bytes after its end. */
  async readBytes(position: number, length: number): Promise<Buffer> {
    await this.yieldToEventLoop();
    if (position + length > this.size) throw bundleRejectedError('not_a_zip');
    const at = position - this.windowAt;
    if (at >= 0 && at + length <= this.window.length) return this.window.subarray(at, at + length);
    if (length > windowBytes / 4) return this.readFile(position, length);
    this.window = await this.readFile(position, Math.min(windowBytes, this.size - position));
    this.windowAt = position;
    return this.window.subarray(0, length);
  }

  /** Lets the event loop run every few ms, because reads from the buffered window never wait for the disk. */
  async yieldToEventLoop(): Promise<void> {
    if (performance.now() - this.turnStartedAt < turnMs) return;
    await nextTurn();
    this.turnStartedAt = performance.now();
  }

  private async readFile(position: number, length: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafeSlow(length);
    let read = 0;
    while (read < length) {
      const { bytesRead } = await this.file.read(buffer, read, length - read, position + read);
      if (bytesRead === 0) throw bundleRejectedError('not_a_zip');
      read += bytesRead;
    }
    return buffer;
  }
}

/** Reads a number of eight bytes. Rejects values that are larger than any valid archive needs. */
export function readUint64(buffer: Buffer, at: number): number {
  const value = buffer.readBigUInt64LE(at);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw bundleRejectedError('not_a_zip');
  return Number(value);
}
