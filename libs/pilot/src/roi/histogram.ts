/** Each octave (factor of two) of times has 2^bits buckets, so the width of a bucket is at most 1/32 of its times. */
const bits = 5;
/** Number of buckets. Times are below 2^53 microseconds. */
export const bucketCount = (53 - bits + 1) * 2 ** bits;

/** Returns the bucket of a time. Buckets are in the order of the times. */
export function computeHistogramBucket(micros: number): number {
  let octave = Math.floor(Math.log2(micros));
  // The logarithm of a number just below a power of two may be rounded up to that power.
  if (2 ** octave > micros) octave -= 1;
  // In the first octaves, each microsecond has its own bucket. The logarithm of 0 is -Infinity.
  const shift = Math.max(0, octave - bits);
  return shift * 2 ** bits + Math.floor(micros / 2 ** shift);
}

/** Counts of whole numbers. The keys are ascending. */
export interface Counts {
  keys: number[];
  counts: number[];
}

/**
 * Encodes counts as bytes: the difference to the previous key, then the count, with seven bits of a number per byte.
 */
export function encodeBucketCounts({ keys, counts }: Counts): Buffer {
  const bytes: number[] = [];
  const writeNumber = (value: number) => {
    for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
    bytes.push(value);
  };
  keys.forEach((key, at) => {
    writeNumber(key - (keys[at - 1] ?? 0));
    writeNumber(counts[at]!);
  });
  return Buffer.from(bytes);
}

export function decodeBucketCounts(bytes: Buffer, each: (key: number, count: number) => void): void {
  let at = 0;
  const readNumber = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++]!;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  for (let key = 0; at < bytes.length;) {
    key += readNumber();
    each(key, readNumber());
  }
}

/** Counts equal numbers. `keys` must be in ascending order. */
export function countRepeatedKeys(keys: Iterable<number>): Counts {
  const counted: Counts = { keys: [], counts: [] };
  for (const key of keys) {
    if (counted.keys.at(-1) === key) counted.counts[counted.counts.length - 1]! += 1;
    else {
      counted.keys.push(key);
      counted.counts.push(1);
    }
  }
  return counted;
}
