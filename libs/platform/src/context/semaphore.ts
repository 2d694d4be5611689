/** Limits the number of tasks that run at the same time. Further tasks wait for their turn. */
export class Semaphore {
  private readonly waiting: (() => void)[] = [];

  constructor(private free: number) {}

  async runInTurn<T>(work: () => Promise<T>): Promise<T> {
    const release = await this.acquire();
    try {
      return await work();
    } finally {
      release();
    }
  }

  /**
   * Waits for a turn and returns the function that releases it. Throws the signal's reason if the signal aborts first.
   */
  async acquire(signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.free > 0) this.free -= 1;
    else await this.waitForTurn(signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const next = this.waiting.shift();
      if (next) next();
      else this.free += 1;
    };
  }

  private waitForTurn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leaveQueue = () => {
        this.waiting.splice(this.waiting.indexOf(enterTurn), 1);
        reject(signal!.reason as Error);
      };
      const enterTurn = () => {
        signal?.removeEventListener('abort', leaveQueue);
        resolve();
      };
      signal?.addEventListener('abort', leaveQueue, { once: true });
      this.waiting.push(enterTurn);
    });
  }
}
