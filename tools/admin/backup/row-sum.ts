import { Transform } from 'node:stream';

/**
 * Counts the rows that pass through, and adds up their hashes. The total does not depend on the order of the rows,
 * because Postgres does not guarantee one. It detects accidental loss and change; the encryption detects forgery.
 */
export class RowSum extends Transform {
  rows = 0;
  private first: number = seeds[0];
  private second: number = seeds[1];
  private firstSum = 0;
  private secondSum = 0;

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.addRow(chunk);
    done(null, chunk);
  }

  /** Counts and hashes the rows of a chunk. In COPY's text format a newline ends a row and occurs nowhere else. */
  addRow(chunk: Buffer): void {
    let { first, second } = this;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at]!;
      if (byte === newline) {
        this.rows += 1;
        this.firstSum = (this.firstSum + mixHash(first)) | 0;
        this.secondSum = (this.secondSum + mixHash(second ^ first)) | 0;
        first = seeds[0];
        second = seeds[1];
      } else {
        first = Math.imul(first ^ byte, 0x01000193);
        second = Math.imul(second ^ byte, 0x5bd1e995) + 0x9e3779b9;
      }
    }
    this.first = first;
    this.second = second;
  }

  get hash(): string {
    return [this.firstSum, this.secondSum].map((sum) => (sum >>> 0).toString(16).padStart(8, '0')).join('');
  }
}

const newline = 10;
const seeds = [0x811c9dc5, 0x27d4eb2f] as const;

function mixHash(hash: number): number {
  let value = hash;
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return value ^ (value >>> 16);
}
