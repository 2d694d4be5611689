import type { Database } from '@muster/database';

/** Makes the partitions of the months to come, and drops those that are over for longer than the retention. 0: none. */
export async function keepTimelinePartitions(
  database: Database,
  { retentionDays }: { retentionDays: number },
): Promise<{ dropped: number }> {
  const [kept] = await database.query<{ dropped: number }>(
    'system',
    'SELECT keep_timeline_partitions(2, make_interval(days => $1)) AS dropped',
    [retentionDays === 0 ? null : retentionDays],
  );
  return kept!;
}
