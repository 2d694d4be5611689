import type { Database } from '@muster/database';

/** Returns the number of deadlocks that Postgres has found in the database since its creation. */
export async function countDeadlocks(db: Database): Promise<number> {
  const [row] = await db.query<{ count: string }>(
    'system',
    `SELECT pg_stat_clear_snapshot(), deadlocks AS count FROM pg_stat_database WHERE datname = current_database()`,
  );
  return Number(row!.count);
}
