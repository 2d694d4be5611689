/**
 * Combines many small requests into few large ones. The first request is sent at once. Requests that arrive while one
 * is in progress are sent together as the next one. So an idle process waits for nothing, and the batches of a busy
 * process are as large as its load.
 */
export class Coalescer<T, R> {
  private waiting: { item: T; resolve: (answer: R) => void; reject: (error: unknown) => void }[] = [];
  private working?: Promise<void>;

  constructor(
    private readonly request: (items: T[]) => Promise<(item: T) => R>,
    private readonly batchSize = 1000,
  ) {}

  addItem(item: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      this.working ??= this.processBatches().finally(() => delete this.working);
    });
  }

  /** Resolves when no request is in progress any more. */
  async waitUntilIdle(): Promise<void> {
    while (this.working) await this.working;
  }

  private async processBatches(): Promise<void> {
    // Items that are added in the same turn of the event loop go into the same batch.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.batchSize);
      try {
        const answerOf = await this.request(batch.map(({ item }) => item));
        for (const { item, resolve } of batch) resolve(answerOf(item));
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}
