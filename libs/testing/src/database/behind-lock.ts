import type { Database, Transaction } from '@muster/database';
import { waitFor } from '../wait-for';

/**
 * Holds what `hold` locks, starts the others, and when each of them waits for a lock, changes what they wait for and
 * lets it go. What they answer shows whether they looked again after the wait.
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
    await waitFor(`${works.length} to wait for the lock`, async () => {
      const [row] = await db.query<{ waiting: number }>(
        'system',
        `SELECT count(DISTINCT pid)::int AS waiting FROM pg_locks WHERE NOT granted
           AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())`,
      );
      return row!.waiting >= works.length;
    });
    await change(tx);
    // In a box of its own: the transaction would wait for those who wait for it.
    return { works };
  });
  return Promise.all(started.works);
}
