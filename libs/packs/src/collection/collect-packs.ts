import type { Database, PackBundleEntity, PackUploadEntity, RuntimeBundleEntity } from '@muster/database';
import { nilId, type Round, sweepRows } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import { packObjects } from '../pack-objects';

interface Parts {
  database: Database;
  storage: ObjectStorage;
}

/** Deletes uploads after a day, drafts 30 days after they were replaced, and bundles that nothing references. */
export async function removeUnusedPackObjects(
  parts: Parts,
  round: Round,
  now: Date,
): Promise<{ uploads: number; drafts: number; bundles: number }> {
  const uploads = await removeOldUploads(parts, round, now);
  const drafts = await removeOldDrafts(parts, round, now);
  const bundles = await removeUnusedBundles(parts, round, now);
  return { uploads, drafts, bundles };
}

type Upload = Pick<PackUploadEntity, 'id' | 'uploadKey'>;

/** Deletes uploads after a day. Their upload URLs have expired, so nothing can be written to these keys any more. */
async function removeOldUploads({ database, storage }: Parts, round: Round, now: Date): Promise<number> {
  const { removed } = await sweepRows<Upload, 'removed'>(round, {
    name: 'pack uploads',
    outcomes: ['removed'],
    candidates: (after, limit) =>
      database.query<Upload>(
        'system',
        `SELECT id, upload_key FROM pack_upload WHERE created_at < $1::timestamptz - interval '1 day' AND id > $2
         ORDER BY id LIMIT $3`,
        [now, after?.id ?? nilId, limit],
      ),
    settle: async ({ id, uploadKey }) => {
      await storage.delete(uploadKey);
      await database.query('system', 'DELETE FROM pack_upload WHERE id = $1', [id]);
      return 'removed';
    },
    rowOf: ({ id }) => `upload ${id}`,
  });
  return removed;
}

type Draft = Pick<RuntimeBundleEntity, 'id' | 'organizationId'>;

const unusedDraft = `
  (b.stored_at IS NULL AND b.created_at < $1::timestamptz - interval '1 day'
   OR b.replaced_at < $1::timestamptz - interval '30 days')
  AND NOT EXISTS (SELECT FROM pack_version v WHERE v.runtime_bundle_id = b.id)
  AND NOT EXISTS (SELECT FROM workflow_pack p WHERE p.draft_runtime_bundle_id = b.id)`;

/**
 * Deletes replaced drafts, and bundles that were never stored completely. This is safe, because a replaced draft never
 * becomes the draft head or a version again, and a slow upload fails when the row of its bundle is gone. The manifest
 * is deleted before the row, so that a later round finds the row again if the process dies between the two.
 */
async function removeOldDrafts({ database, storage }: Parts, round: Round, now: Date): Promise<number> {
  const { removed } = await sweepRows<Draft, 'removed'>(round, {
    name: 'pack drafts',
    outcomes: ['removed'],
    candidates: (after, limit) =>
      database.query<Draft>(
        'system',
        `SELECT b.id, b.organization_id FROM runtime_bundle b WHERE ${unusedDraft} AND b.id > $2 ORDER BY b.id LIMIT $3`,
        [now, after?.id ?? nilId, limit],
      ),
    settle: ({ id, organizationId }) =>
      database.transaction('system', async (tx) => {
        const [held] = await tx.query('SELECT id FROM runtime_bundle WHERE id = $1 FOR UPDATE SKIP LOCKED', [id]);
        if (!held) return null;
        const [unused] = await tx.query(`SELECT b.id FROM runtime_bundle b WHERE b.id = $2 AND ${unusedDraft}`, [
          now,
          id,
        ]);
        if (!unused) return null;
        await storage.delete(packObjects.manifest(organizationId, id));
        await tx.execute('DELETE FROM runtime_bundle WHERE id = $1', [id]);
        return 'removed';
      }),
    rowOf: ({ id }) => `draft ${id}`,
  });
  return removed;
}

type Bundle = Pick<PackBundleEntity, 'organizationId' | 'digest'>;

const unusedBundle = `
  (o.removing_at IS NULL AND o.touched_at < $1::timestamptz - interval '1 hour'
   OR o.removing_at < $1::timestamptz - interval '2 minutes')
  AND NOT EXISTS (SELECT FROM runtime_bundle b WHERE b.organization_id = o.organization_id AND b.digest = o.digest)`;

/**
 * Deletes the bytes of a bundle in two steps. The first step marks the bundle's row. From then on, nothing may
 * reference the bytes: a process that needs them waits until they are deleted and then stores them again. So a deletion
 * that the store executes late cannot delete bytes that were just referenced.
 */
async function removeUnusedBundles({ database, storage }: Parts, round: Round, now: Date): Promise<number> {
  const { removed } = await sweepRows<Bundle, 'removed'>(round, {
    name: 'pack bundles',
    outcomes: ['removed'],
    candidates: (after, limit) =>
      database.query<Bundle>(
        'system',
        `SELECT o.organization_id, o.digest FROM pack_bundle o
         WHERE ${unusedBundle} AND (o.organization_id, o.digest) > ($2, $3)
         ORDER BY o.organization_id, o.digest LIMIT $4`,
        [now, after?.organizationId ?? nilId, after?.digest ?? '', limit],
      ),
    settle: async ({ organizationId, digest }) => {
      if (!(await markBundleRemoving(database, { organizationId, digest }, now))) return null;
      await storage.delete(packObjects.bundle(organizationId, digest));
      await database.query('system', 'DELETE FROM pack_bundle WHERE organization_id = $1 AND digest = $2', [
        organizationId,
        digest,
      ]);
      return 'removed';
    },
    rowOf: ({ organizationId, digest }) => `bundle ${digest} of ${organizationId}`,
  });
  return removed;
}

/** Locks the row before the check, because a transaction that references the bytes holds this lock until it commits. */
function markBundleRemoving(database: Database, { organizationId, digest }: Bundle, now: Date): Promise<boolean> {
  return database.transaction('system', async (tx) => {
    const names = [organizationId, digest];
    await tx.query('SELECT FROM pack_bundle WHERE organization_id = $1 AND digest = $2 FOR UPDATE', names);
    const marked = await tx.execute(
      `UPDATE pack_bundle o SET removing_at = $1 WHERE o.organization_id = $2 AND o.digest = $3 AND ${unusedBundle}`,
      [now, ...names],
    );
    return marked > 0;
  });
}
