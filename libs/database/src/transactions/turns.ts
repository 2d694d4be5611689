import { AppError } from '@muster/contracts';

/**
 * Thrown by a transaction that must not run concurrently with others with the same key. It is rolled back, waits for
 * its turn without a connection, and runs again.
 */
export class TakeTurn extends Error {
  constructor(readonly key: string) {
    super(`this transaction must run alone among those with the key "${key}"`);
  }
}

/**
 * Runs work with the same key one at a time in this process. Waiting work runs in the order of its arrival and holds no
 * database connection, so that many requests of one organization leave the connections to other organizations.
 */
export class Turns {
  private readonly waiting = new Map<string, (() => void)[]>();

  constructor(private readonly maxWaiting: number) {}

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const line = this.waiting.get(key);
    if (line) await this.wait(line);
    else this.waiting.set(key, []);
    try {
      return await work();
    } finally {
      const next = this.waiting.get(key)!.shift();
      if (next) next();
      else this.waiting.delete(key);
    }
  }

  private wait(line: (() => void)[]): Promise<void> {
    if (line.length >= this.maxWaiting) {
      throw new AppError('service_unavailable', {
        detail: 'Too many requests of this kind are waiting for each other; nothing was changed. Try again.',
      });
    }
    return new Promise((resolve) => line.push(resolve));
  }
}
