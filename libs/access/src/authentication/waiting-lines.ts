/**
 * Runs a limited number of tasks at the same time. Further tasks wait in lines, which take turns and have a maximum
 * length, so that many tasks in one line do not delay those in another.
 */
export class WaitingLines<Line extends string> {
  private readonly waiting: Map<Line, (() => void)[]>;
  private running = 0;

  constructor(
    private readonly bounds: { lines: readonly Line[]; concurrency: number; waitingInLine: number },
    /** Creates the error for a task whose line is full. */
    private readonly full: () => Error,
  ) {
    this.waiting = new Map(bounds.lines.map((line) => [line, []]));
  }

  async runInLine<T>(line: Line, work: () => Promise<T>): Promise<T> {
    if (this.running < this.bounds.concurrency) this.running += 1;
    else await this.waitForTurn(this.waiting.get(line)!);
    try {
      return await work();
    } finally {
      this.startNextWaitingTask();
    }
  }

  private waitForTurn(line: (() => void)[]): Promise<void> {
    if (line.length >= this.bounds.waitingInLine) throw this.full();
    return new Promise((resolve) => line.push(resolve));
  }

  /** Gives the slot of a finished task to the first task of the line whose last turn was the longest ago. */
  private startNextWaitingTask(): void {
    for (const [name, line] of this.waiting) {
      const first = line.shift();
      if (!first) continue;
      this.waiting.delete(name);
      this.waiting.set(name, line);
      return first();
    }
    this.running -= 1;
  }
}
