/** Whether a value is larger than that as JSON, about; no more of it is looked at than is needed to know. */
export function isLarger(value: unknown, maxBytes: number): boolean {
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
