import type { Transaction } from './transactions/transaction';

/** Ours until the transaction ends, or false at once. Never a session lock: those leak through poolers. */
export async function tryLock(tx: Transaction, ...parts: string[]): Promise<boolean> {
  const [row] = await tx.query<{ locked: boolean }>(
    'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS locked',
    [parts.join('\u001f')],
  );
  return row!.locked;
}

/** Ours until the transaction ends; waits for the one who has it. */
export async function lock(tx: Transaction, ...parts: string[]): Promise<void> {
  await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [parts.join('\u001f')]);
}
