import { AppError } from '@muster/contracts';
import { getClientSignal } from '@muster/platform';

/**
 * Thrown by a transaction that must not run concurrently with others with the same key. It is rolled back, waits for
 * its turn without a connection, and runs again.
 */
export class TakeTurn extends Error {
  /** Signal of the client for which the transaction runs. A set runs transactions of several clients. */
  readonly signal = getClientSignal();

  constructor(readonly key: string) {
    super(`this transaction must run alone among those with the key "${key}"`);
  }
}

/**
 * Runs work with the same key one at a time in this process. Waiting work runs in the order of its arrival and holds no
 * database connection, so that many requests of one organization leave the connections to other organizations. Work
 * whose signal aborts while it waits gives its position up at once and does not run.
 */
export class Turns {
  private readonly waiting = new Map<string, (() => void)[]>();

  constructor(private readonly maxWaiting: number) {}

  async runInTurn<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const line = this.waiting.get(key);
    if (line) await this.waitForTurn(line, signal);
    else this.waiting.set(key, []);
    try {
      return await work();
    } finally {
      const next = this.waiting.get(key)!.shift();
      if (next) next();
      else this.waiting.delete(key);
    }
  }

  private waitForTurn(line: (() => void)[], signal: AbortSignal | undefined): Promise<void> {
    if (line.length >= this.maxWaiting) {
      throw new AppError('service_unavailable', {
        detail: 'Too many requests that change the same data are waiting. Nothing was changed; try again.',
      });
    }
    return new Promise((resolve, reject) => {
      const leaveLine = () => {
        line.splice(line.indexOf(enterTurn), 1);
        reject(signal!.reason as Error);
      };
      const enterTurn = () => {
        signal?.removeEventListener('abort', leaveLine);
        resolve();
      };
      signal?.addEventListener('abort', leaveLine, { once: true });
      line.push(enterTurn);
    });
  }
}
