import type { Database, Transaction } from '@muster/database';
import { waitFor } from '../wait-for';

/**
 * Takes the locks of `hold`, starts the calls, and when each of them waits for a lock, makes the change and commits.
 * The results show whether the calls read their rows again after the wait.
 */
export async function behindLock<T>(
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
    // Wrapped in an object, because the transaction would await promises that wait for the transaction.
    return { works };
  });
  return Promise.all(started.works);
}
