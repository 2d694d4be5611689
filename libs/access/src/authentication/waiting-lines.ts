/**
 * Work that is done so many at a time. The others wait in lines that take turns and have an end each: a crowd fills its
 * own line and holds up nobody in another.
 */
export class WaitingLines<Line extends string> {
  private readonly waiting: Map<Line, (() => void)[]>;
  private atWork = 0;

  constructor(
    private readonly bounds: { lines: readonly Line[]; atOnce: number; waitingInLine: number },
    /** What is thrown at the end of a full line. */
    private readonly full: () => Error,
  ) {
    this.waiting = new Map(bounds.lines.map((line) => [line, []]));
  }

  async run<T>(line: Line, work: () => Promise<T>): Promise<T> {
    if (this.atWork < this.bounds.atOnce) this.atWork += 1;
    else await this.turnOf(this.waiting.get(line)!);
    try {
      return await work();
    } finally {
      this.next();
    }
  }

  private turnOf(line: (() => void)[]): Promise<void> {
    if (line.length >= this.bounds.waitingInLine) throw this.full();
    return new Promise((resolve) => line.push(resolve));
  }

  /** The place of one that is done goes to the first of the line whose turn is longest ago. */
  private next(): void {
    for (const [name, line] of this.waiting) {
      const first = line.shift();
      if (!first) continue;
      this.waiting.delete(name);
      this.waiting.set(name, line);
      return first();
    }
    this.atWork -= 1;
  }
}
