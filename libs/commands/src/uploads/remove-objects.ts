import type { Database, ObjectRemovalEntity, Transaction } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';

/**
 * Minutes for which an upload URL is valid. An upload that was allowed before the deletion can arrive for this long.
 */
const uploadLifetimeMinutes = 15;

/**
 * Records which stored objects of a deleted job must be removed, in the transaction that deletes the job, and enqueues
 * the removal.
 */
export async function scheduleObjectRemoval(
  tx: Transaction,
  { organizationId, jobId, now }: { organizationId: string; jobId: string; now: Date },
): Promise<void> {
  const promised = await tx.execute(
    `WITH shown AS (
       -- An image that was uploaded for the agent belongs to the job if it is the job's screenshot.
       UPDATE artifact a SET job_id = j.id FROM job j
       WHERE j.id = $1 AND a.organization_id = $2 AND a.storage_key = j.screenshot_key AND a.job_id IS NULL
         AND a.kind = 'image'
       RETURNING a.storage_key, a.created_at),
     own AS (
       SELECT storage_key, created_at FROM artifact WHERE job_id = $1 AND organization_id = $2
       UNION ALL SELECT storage_key, created_at FROM shown)
     INSERT INTO object_removal (storage_key, organization_id, job_id, last_arrival_at)
     SELECT storage_key, $2, $1, GREATEST($3::timestamptz, created_at + make_interval(mins => $4)) FROM own
     ON CONFLICT DO NOTHING`,
    [jobId, organizationId, now, uploadLifetimeMinutes],
  );
  if (promised > 0) await tx.enqueue({ queue: 'metering', name: 'remove-objects', payload: { jobId } });
}

/**
 * Removes the stored objects of a deleted job. The row of an object stays until no upload can create the object again.
 */
export async function removeObjects(
  database: Database,
  storage: ObjectStorage,
  { jobId, now }: { jobId: string; now: Date },
): Promise<{ removed: number }> {
  let after = '';
  for (let removed = 0; ;) {
    const rows = await database.query<Pick<ObjectRemovalEntity, 'storageKey'>>(
      'system',
      `SELECT storage_key FROM object_removal WHERE job_id = $1 AND storage_key > $2
       ORDER BY storage_key LIMIT 100`,
      [jobId, after],
    );
    if (rows.length === 0) return { removed };
    const keys = rows.map(({ storageKey }) => storageKey);
    await storage.deleteAll(keys);
    await database.query('system', 'DELETE FROM object_removal WHERE storage_key = ANY($1) AND last_arrival_at <= $2', [
      keys,
      now,
    ]);
    removed += keys.length;
    after = keys.at(-1)!;
  }
}

/**
 * Enqueues another removal of objects whose last upload URL has expired. An upload may have arrived since the first
 * removal, or the first removal may have failed.
 */
export async function enqueueDueRemovals(database: Database, now: Date): Promise<{ jobs: number }> {
  return database.transaction('system', async (tx) => {
    const due = await tx.query<Pick<ObjectRemovalEntity, 'jobId'>>(
      `UPDATE object_removal SET enqueued_at = $1
       WHERE storage_key IN (
         SELECT storage_key FROM object_removal
         WHERE last_arrival_at <= $1 AND (enqueued_at IS NULL OR enqueued_at < $1::timestamptz - interval '1 hour')
         ORDER BY last_arrival_at LIMIT 1000 FOR UPDATE SKIP LOCKED)
       RETURNING job_id`,
      [now],
    );
    const jobs = [...new Set(due.map(({ jobId }) => jobId))];
    const messages = jobs.map((jobId) => ({
      queue: 'metering' as const,
      name: 'remove-objects' as const,
      payload: { jobId },
    }));
    await tx.enqueue(...messages);
    return { jobs: jobs.length };
  });
}
