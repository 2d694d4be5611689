import { AppError } from '@muster/contracts';
import type { Database, PackBundleEntity, RuntimeBundleEntity } from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import { findPack } from '../packs/pack-row';
import { packObjects } from '../pack-objects';
import type { BundleFile } from '../zip/check-bundle';

export type RuntimeBundleRow = Pick<
  RuntimeBundleEntity,
  'id' | 'baseRuntimeBundleId' | 'digest' | 'createdAt' | 'createdBy'
> &
  Pick<PackBundleEntity, 'size'>;

export type DraftRow = RuntimeBundleRow & { files: BundleFile[] };

export const bundleColumns = `b.id, b.base_runtime_bundle_id, b.digest, b.created_at, b.created_by, o.size`;
export const bundleJoin =
  'runtime_bundle b JOIN pack_bundle o ON o.organization_id = b.organization_id AND o.digest = b.digest';

interface Parts {
  database: Database;
  storage: ObjectStorage;
}

export async function findPackDraft(parts: Parts, organizationId: string, packId: string): Promise<DraftRow> {
  const { draftRuntimeBundleId } = await findPack(parts.database, organizationId, packId);
  if (!draftRuntimeBundleId)
    throw new AppError('draft_not_found', { detail: 'The pack has no draft yet. Upload a bundle as the draft first.' });
  return readBundle(parts, organizationId, draftRuntimeBundleId);
}

/** Returns an existing bundle with its files. */
export async function readBundle({ database, storage }: Parts, organizationId: string, id: string): Promise<DraftRow> {
  const [row] = await database.query<RuntimeBundleRow>(
    { organizationId },
    `SELECT ${bundleColumns} FROM ${bundleJoin} WHERE b.id = $1 AND b.organization_id = $2`,
    [id, organizationId],
  );
  return { ...row!, files: await readManifest(storage, organizationId, id) };
}

/** Returns the newest uploads that became a draft. */
export function listBundles(database: Database, organizationId: string, packId: string): Promise<RuntimeBundleRow[]> {
  return database.query<RuntimeBundleRow>(
    { organizationId },
    `SELECT ${bundleColumns} FROM ${bundleJoin}
     WHERE b.pack_id = $1 AND b.organization_id = $2 AND b.stored_at IS NOT NULL ORDER BY b.id DESC LIMIT 200`,
    [packId, organizationId],
  );
}

export async function readManifest(
  storage: ObjectStorage,
  organizationId: string,
  runtimeBundleId: string,
): Promise<BundleFile[]> {
  const bytes = await storage.get(packObjects.manifest(organizationId, runtimeBundleId));
  if (!bytes) throw new Error(`the manifest of bundle ${runtimeBundleId} is missing in the object storage`);
  return (JSON.parse(bytes.toString()) as { files: BundleFile[] }).files;
}
