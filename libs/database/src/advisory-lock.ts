import type { Transaction } from './transactions/transaction';

/**
 * Tries to take a transaction-level advisory lock; returns false at once if another transaction holds it. Session-level
 * locks are not used because they leak through connection poolers.
 */
export async function tryAdvisoryLock(tx: Transaction, ...parts: string[]): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked',
    [parts.join('\u001f')],
  );
  return row!.locked;
}

/** Takes a transaction-level advisory lock; waits while another transaction holds it. */
export async function acquireAdvisoryLock(tx: Transaction, ...parts: string[]): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [parts.join('\u001f')]);
}
