import { randomFillSync } from 'node:crypto';

const page = Buffer.allocUnsafeSlow(4096);
let used = page.length;

/**
 * Returns random bytes, which the caller must use at once because their buffer is reused. They are generated a page at
 * a time, because a few bytes cost as much as thousands.
 */
export function takeRandomBytes(count: number): Buffer {
  if (used + count > page.length) {
    randomFillSync(page);
    used = 0;
  }
  const from = used;
  used += count;
  return page.subarray(from, used);
}
