import { randomFillSync } from 'node:crypto';

const page = Buffer.allocUnsafeSlow(4096);
let used = page.length;

/** Random bytes, to be used at once. They are drawn a page at a time: a few cost as much as thousands. */
export function randomBytes(count: number): Buffer {
  if (used + count > page.length) {
    randomFillSync(page);
    used = 0;
  }
  const from = used;
  used += count;
  return page.subarray(from, used);
}
