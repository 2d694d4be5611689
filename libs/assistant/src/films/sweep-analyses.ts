import type { Database, VideoAnalysisEntity } from '@muster/database';

const atOnce = 100;

/** Rings for analyses that are due: those that wait for a machine, and those that somebody died over. */
export async function ringDueAnalyses(database: Database): Promise<{ rung: number }> {
  const rows = await database.query<Pick<VideoAnalysisEntity, 'id'>>(
    'system',
    'SELECT id FROM video_analysis WHERE due_at <= muster_now() ORDER BY due_at LIMIT $1',
    [atOnce],
  );
  if (rows.length === 0) return { rung: 0 };
  await database.transaction('system', (tx) =>
    tx.enqueue(
      ...rows.map(({ id }) => ({ queue: 'dispatch', name: 'analyze-video', payload: { analysisId: id } }) as const),
    ),
  );
  return { rung: rows.length };
}
