export interface IndexEntry {
  key: string;
  etag: string;
  lastModified: string;
  size: number;
}

/** The keys of one bucket in UTF-8 binary order, which is not the order of JavaScript strings. */
export class KeyIndex {
  private readonly keys: Buffer[] = [];
  private readonly entries = new Map<string, IndexEntry>();

  constructor(entries: readonly IndexEntry[]) {
    for (const entry of entries) this.entries.set(entry.key, entry);
    this.keys = [...this.entries.keys()].map((key) => Buffer.from(key)).sort(Buffer.compare);
  }

  getEntry(key: string): IndexEntry | undefined {
    return this.entries.get(key);
  }

  setEntry(entry: IndexEntry): void {
    const bytes = Buffer.from(entry.key);
    if (!this.entries.has(entry.key)) this.keys.splice(this.findPosition(bytes), 0, bytes);
    this.entries.set(entry.key, entry);
  }

  deleteEntry(key: string): void {
    if (this.entries.delete(key)) this.keys.splice(this.findPosition(Buffer.from(key)), 1);
  }

  /** Returns the entries with keys from `start` on, in order. */
  *iterateFrom(start: string): Generator<IndexEntry> {
    for (let at = this.findPosition(Buffer.from(start)); at < this.keys.length; at += 1) {
      yield this.entries.get(this.keys[at]!.toString())!;
    }
  }

  private findPosition(key: Buffer): number {
    let low = 0;
    let high = this.keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (Buffer.compare(this.keys[middle]!, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
