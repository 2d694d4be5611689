/**
 * Many small questions as few large ones. The first is asked at once; those that come while it is under way are asked
 * together when it is back. So an idle process waits for nothing, and a busy one asks in batches as large as its load.
 */
export class Coalescer<T, R> {
  private waiting: { item: T; resolve: (answer: R) => void; reject: (error: unknown) => void }[] = [];
  private asking?: Promise<void>;

  constructor(
    private readonly ask: (items: T[]) => Promise<(item: T) => R>,
    private readonly atOnce = 1000,
  ) {}

  add(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.asking ??= this.work().finally(() => delete this.asking);
    });
  }

  /** Answers when nothing is under way any more. */
  async idle(): Promise<void> {
    while (this.asking) await this.asking;
  }

  private async work(): Promise<void> {
    // What comes in the same turn belongs together.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.atOnce);
      try {
        const answerOf = await this.ask(batch.map(({ item }) => item));
        for (const { item, resolve } of batch) resolve(answerOf(item));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}
