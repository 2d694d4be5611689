import { randomFillSync } from 'node:crypto';

const page = Buffer.allocUnsafeSlow(4096);
let used = page.length;

/** Random bytes as hex. They are drawn a page at a time: asking for a few costs as much as asking for thousands. */
export function randomHex(bytes: number): string {
  if (used + bytes > page.length) {
    randomFillSync(page);
    used = 0;
  }
  const from = used;
  used += bytes;
  return page.toString('hex', from, used);
}
