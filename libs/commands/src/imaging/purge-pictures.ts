import { purgeByRetention } from '@muster/access';
import type { ArtifactEntity, Database } from '@muster/database';
import type { Round } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';

const rowBatchSize = 200;

/** SQL conditions for the images to delete. An index exists for each condition. */
const kinds = {
  imaging: `storage_key LIKE 'imaging/%'`,
  // Only screenshots of autopilot sessions have these names. Files of a run are deleted with the run.
  sessions: `filename LIKE 'session-%' AND job_id IS NULL AND kind = 'image'`,
};

/** Deletes the images of imaging commands and of sessions when the organization's `logRetentionDays` have passed. */
export async function purgeOldImages(
  parts: { database: Database; storage: ObjectStorage },
  round: Round,
  now: Date,
): Promise<{ pictures: number }> {
  let pictures = 0;
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
    const name = `pictures of ${kind}`;
    const purgeBefore = (organizationId: string, before: Date) =>
      deletePageOfImages(parts, kind, { organizationId, before });
    pictures += (
      await purgeByRetention(parts.database, round, { name, keptFor: 'logRetentionDays', now, step: purgeBefore })
    ).purged;
  }
  return { pictures };
}

/**
 * Deletes one page of images. The stored object is deleted before its row: if this is interrupted, the row that is left
 * is found again.
 */
async function deletePageOfImages(
  { database, storage }: { database: Database; storage: ObjectStorage },
  kind: keyof typeof kinds,
  { organizationId, before }: { organizationId: string; before: Date },
): Promise<number> {
  const old = await database.query<Pick<ArtifactEntity, 'id' | 'storageKey'>>(
    'system',
    `SELECT id, storage_key FROM artifact
     WHERE organization_id = $1 AND ${kinds[kind]} AND created_at < $2
     ORDER BY created_at LIMIT $3`,
    [organizationId, before, rowBatchSize],
    `old_pictures_of_${kind}`,
  );
  await storage.deleteAll(old.map(({ storageKey }) => storageKey));
  await database.query(
    'system',
    'DELETE FROM artifact WHERE id = ANY($1) AND organization_id = $2',
    [old.map(({ id }) => id), organizationId],
    'drop_pictures',
  );
  return old.length;
}
