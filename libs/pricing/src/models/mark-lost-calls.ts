import type { Database, ModelCallEntity } from '@muster/database';

/** Minutes after which an open call counts as lost; longer than any call takes. */
const lostAfterMinutes = 60;
const batchSize = 1000;

/** Marks model calls as lost if their process ended before it stored their outcome. Their usage is unknown. */
export async function markLostCalls(database: Database): Promise<{ lost: number }> {
  const rows = await database.query<Pick<ModelCallEntity, 'id'>>(
    'system',
    `UPDATE model_call SET outcome = 'lost' WHERE id IN (
       SELECT id FROM model_call WHERE outcome = 'open' AND at < muster_now() - $1 * interval '1 minute'
       ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED)
     RETURNING id`,
    [lostAfterMinutes, batchSize],
  );
  return { lost: rows.length };
}
