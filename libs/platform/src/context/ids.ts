import { NIL, v7 } from 'uuid';
import { takeRandomBytes } from './random-bytes';

/** The id that sorts before every other id. */
export const nilId: string = NIL;

let lastMs = 0;
let sequence = 0;

/**
 * Returns a time-ordered id, so that new rows are added at the end of an index. The ids of one process always ascend.
 */
export function newId(): string {
  const random = takeRandomBytes(16);
  const now = Date.now();
  // The sequence number starts at a random value in the lower half of its range, so that it cannot run out within one
  // millisecond.
  sequence = now > lastMs ? random.readUInt32BE(0) >>> 1 : sequence + 1;
  lastMs = Math.max(now, lastMs);
  return v7({ random, msecs: lastMs, seq: sequence });
}

/**
 * Returns the smallest id that can be created at this time, for ranges of ids instead of times. A time that ids cannot
 * represent is replaced with the nearest one.
 */
export function smallestIdAt(at: Date): string {
  const hex = Math.min(Math.max(at.getTime(), 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(value: unknown): value is string {
  return typeof value === 'string' && uuidPattern.test(value);
}
