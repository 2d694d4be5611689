import type { Database } from './database';

/** The clock that the rows are written by: one for all replicas, whatever their own say. */
export async function databaseTime(database: Database): Promise<Date> {
  const [row] = await database.query<{ now: Date }>('system', 'SELECT clock_timestamp() AS now', [], 'database_time');
  return row!.now;
}
