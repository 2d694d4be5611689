import { purgeByRetention } from '@muster/access';
import type { ArtifactEntity, Database } from '@muster/database';
import type { Round } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';

const rowsAtOnce = 200;
const deletesAtOnce = 8;

/** Each has an index of its own. */
const kinds = {
  imaging: `storage_key LIKE 'imaging/%'`,
  // As a worker names what a session's browser shows; a run's files are the run's.
  sessions: `filename LIKE 'session-%' AND job_id IS NULL AND kind = 'image'`,
};

/**
 * Drops pictures that imaging commands made, and those of sessions, with what else machines wrote (logRetentionDays).
 */
export async function purgePictures(
  parts: { database: Database; storage: ObjectStorage },
  round: Round,
  now: Date,
): Promise<{ pictures: number }> {
  let pictures = 0;
  for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
    const name = `pictures of ${kind}`;
    const step = (organizationId: string, before: Date) => dropSome(parts, kind, { organizationId, before });
    pictures += (await purgeByRetention(parts.database, round, { name, keptFor: 'logRetentionDays', now, step }))
      .purged;
  }
  return { pictures };
}

/** The object goes first: a row that stays is found again, and an object without a row never would be. */
async function dropSome(
  { database, storage }: { database: Database; storage: ObjectStorage },
  kind: keyof typeof kinds,
  { organizationId, before }: { organizationId: string; before: Date },
): Promise<number> {
  const old = await database.query<Pick<ArtifactEntity, 'id' | 'storageKey'>>(
    'system',
    `SELECT id, storage_key FROM artifact
     WHERE organization_id = $1 AND ${kinds[kind]} AND created_at < $2
     ORDER BY created_at LIMIT $3`,
    [organizationId, before, rowsAtOnce],
    `old_pictures_of_${kind}`,
  );
  const waiting = [...old];
  const work = async () => {
    for (let row = waiting.pop(); row; row = waiting.pop()) await storage.delete(row.storageKey);
  };
  await Promise.all(Array.from({ length: deletesAtOnce }, work));
  await database.query(
    'system',
    'DELETE FROM artifact WHERE id = ANY($1) AND organization_id = $2',
    [old.map(({ id }) => id), organizationId],
    'drop_pictures',
  );
  return old.length;
}
