import type { Database } from '@muster/database';

/**
 * Creates the monthly partitions up to two months ahead, and drops those that ended before the retention period. With a
 * retention of 0 days, none is dropped.
 */
export async function maintainTimelinePartitions(
  database: Database,
  { retentionDays }: { retentionDays: number },
): Promise<{ dropped: number }> {
  const [result] = await database.query<{ dropped: number }>(
    'system',
    'SELECT keep_timeline_partitions(2, make_interval(days => $1)) AS dropped',
    [retentionDays === 0 ? null : retentionDays],
  );
  return result!;
}
