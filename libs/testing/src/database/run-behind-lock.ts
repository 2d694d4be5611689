import type { Database, Transaction } from '@muster/database';
import { waitFor } from '../wait-for';

/**
 * Takes the locks of `hold` and starts the calls. When each call waits for a lock, runs `change` and commits. The
 * results show whether the calls read their rows again after the wait.
 */
export async function runBehindLock<T>(
  db: Database,
  hold: (tx: Transaction) => Promise<unknown>,
  start: () => Promise<T>[],
  change: (tx: Transaction) => Promise<unknown> = () => Promise.resolve(),
): Promise<T[]> {
  const started = await db.transaction('system', async (tx) => {
    await hold(tx);
    const works = start();
    for (const work of works) work.catch(() => undefined);
    await waitFor(`${works.length} calls to wait for the lock`, async () => {
      const [row] = await db.query<{ waiting: number }>(
        'system',
        `SELECT count(DISTINCT pid)::int AS waiting FROM pg_locks WHERE NOT granted
           AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`,
      );
      return row!.waiting >= works.length;
    });
    await change(tx);
    // The promises are returned in an object, because the transaction would await a promise, and these promises wait
    // for the end of the transaction.
    return { works };
  });
  return Promise.all(started.works);
}

/**
 * Runs `hold` in an open transaction, and returns the result of a call that skips the rows that `hold` has locked.
 * Throws if the call waits for the transaction instead.
 */
export function runBesideLock<T>(
  db: Database,
  hold: (tx: Transaction) => Promise<unknown>,
  call: () => Promise<T>,
): Promise<T> {
  return db.transaction('system', async (tx) => {
    await hold(tx);
    const [holder] = await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    let hasEnded = false;
    const work = call().finally(() => (hasEnded = true));
    work.catch(() => undefined);
    const end = await waitFor('the call to end', async () => {
      const [row] = await db.query<{ waits: boolean }>(
        'system',
        'SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND $1 = ANY(pg_blocking_pids(pid))) AS waits',
        [holder!.pid],
      );
      return hasEnded ? 'ended' : row!.waits && 'waits';
    });
    if (end === 'waits') throw new Error('the call waits for a lock of the transaction');
    return work;
  });
}
