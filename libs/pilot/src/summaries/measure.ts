/** Whether a value is larger than `maxBytes` as JSON, approximately. Stops reading as soon as the answer is known. */
export function isJsonLargerThan(value: unknown, maxBytes: number): boolean {
  let left = maxBytes;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    left -= typeof next === 'string' ? Buffer.byteLength(next) + 2 : 4;
    if (left < 0) return true;
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      if (next.length * 2 > left) return true;
      for (const item of next as unknown[]) open.push(item);
      continue;
    }
    for (const key in next) {
      left -= Buffer.byteLength(key) + 4;
      if (left < 0) return true;
      open.push((next as Record<string, unknown>)[key]);
    }
  }
  return false;
}
