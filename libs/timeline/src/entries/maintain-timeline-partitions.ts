import { type Database, dropPartitions, type ExpiredPartition } from '@muster/database';

export interface PartitionOptions {
  /** Connects as the owner of the tables, if the deployment's apps may. */
  databaseUrl: string;
  retentionDays: number;
}

/**
 * Creates the monthly partitions up to two months ahead, and drops those that ended before the retention period. With a
 * retention of 0 days, none is dropped.
 */
export async function maintainTimelinePartitions(
  database: Database,
  { databaseUrl, retentionDays }: PartitionOptions,
): Promise<{ dropped: number }> {
  const maintain = (days: number | null) =>
    database.query<{ dropped: number }>(
      'system',
      'SELECT keep_timeline_partitions(2, make_interval(days => $1)) AS dropped',
      [days],
    );
  await maintain(null);
  const expired = retentionDays === 0 ? [] : await listExpiredPartitions(database, retentionDays);
  if (expired.length === 0) return { dropped: 0 };
  const dropped = await dropPartitions(databaseUrl, 'timeline_entry', expired);
  if (dropped !== null) return { dropped };
  // The function runs as the owner. It drops a partition only if nothing uses the timeline, and otherwise in a later
  // round.
  return (await maintain(retentionDays))[0]!;
}

/**
 * Lists the partitions whose month ended before the retention period, the oldest first. A detached one is left if its
 * drop was interrupted.
 */
function listExpiredPartitions(database: Database, retentionDays: number): Promise<ExpiredPartition[]> {
  return database.query<ExpiredPartition>(
    'system',
    `SELECT c.relname AS name,
       CASE WHEN i.inhrelid IS NULL THEN 'detached' WHEN i.inhdetachpending THEN 'pending' ELSE 'attached' END AS state
     FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname ~ '^timeline_entry_[0-9]{6}$'
       AND to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month' < muster_now() - make_interval(days => $1)
     ORDER BY i.inhdetachpending DESC NULLS LAST, c.relname`,
    [retentionDays],
  );
}
