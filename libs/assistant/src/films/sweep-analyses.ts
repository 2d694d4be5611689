import type { Database, VideoAnalysisEntity } from '@muster/database';

const batchSize = 100;

/**
 * Enqueues a message for each due analysis. An analysis becomes due if it waits for a machine or if its process dies.
 */
export async function enqueueDueAnalyses(database: Database): Promise<{ rung: number }> {
  const rows = await database.query<Pick<VideoAnalysisEntity, 'id'>>(
    'system',
    'SELECT id FROM video_analysis WHERE due_at <= muster_now() ORDER BY due_at LIMIT $1',
    [batchSize],
  );
  if (rows.length === 0) return { rung: 0 };
  await database.transaction('system', (tx) =>
    tx.enqueue(
      ...rows.map(({ id }) => ({ queue: 'dispatch', name: 'analyze-video', payload: { analysisId: id } }) as const),
    ),
  );
  return { rung: rows.length };
}
