import { describeCaller, type Principal } from '@muster/access';
import { AppError } from '@muster/contracts';
import type { Database, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import type { ObjectStorage } from '@muster/storage';
import { setTimeout as pause } from 'node:timers/promises';
import { toPrefixedDigest, packObjects } from '../pack-objects';
import type { BundleFile } from '../zip/check-bundle';

export interface CheckedBundle {
  packId: string;
  baseRuntimeBundleId: string | null;
  digest: string;
  size: number;
  files: BundleFile[];
  /** Writes the bytes of the bundle to this key. */
  store(key: string): Promise<void>;
}

const maxTries = 20;

/**
 * Stores a checked bundle and returns the id of the future draft. Its rows are inserted first. If the process dies,
 * these rows never become a draft, and the stored objects are deleted with them.
 */
export async function storePackBundle(
  { database, storage }: { database: Database; storage: ObjectStorage },
  caller: Principal,
  bundle: CheckedBundle,
): Promise<string> {
  const { organizationId } = caller;
  const id = newId();
  await insertBundle(database, caller, { ...bundle, id });
  const key = packObjects.bundle(organizationId, bundle.digest);
  if ((await storage.readObjectSize(key)) !== bundle.size) await bundle.store(key);
  const { packId, size, files } = bundle;
  const manifest = { runtimeBundleId: id, packId, digest: toPrefixedDigest(bundle.digest), size, files };
  const bytes = Buffer.from(JSON.stringify(manifest));
  await storage.put(packObjects.manifest(organizationId, id), bytes, 'application/json');
  return id;
}

/**
 * Inserts the rows of the bundle. If its bytes are being deleted from the store, waits until they are gone, so that
 * they are stored again.
 */
async function insertBundle(
  database: Database,
  caller: Principal,
  bundle: CheckedBundle & { id: string },
): Promise<void> {
  const { organizationId } = caller;
  for (let tries = 0; tries < maxTries; tries += 1) {
    const isInserted = await database.transaction({ organizationId }, (tx) => insertBundleRows(tx, caller, bundle));
    if (isInserted) return;
    await pause(100);
  }
  throw new AppError('service_unavailable', {
    detail: 'This bundle is being deleted from the store; try again in a minute.',
  });
}

async function insertBundleRows(
  tx: Transaction,
  caller: Principal,
  { id, packId, baseRuntimeBundleId, digest, size, files }: CheckedBundle & { id: string },
): Promise<boolean> {
  const { organizationId } = caller;
  const affected = await tx.execute(
    `INSERT INTO pack_bundle (organization_id, digest, size) VALUES ($1, $2, $3)
     ON CONFLICT (organization_id, digest) DO UPDATE SET touched_at = muster_now() WHERE pack_bundle.removing_at IS NULL`,
    [organizationId, digest, size],
  );
  if (affected === 0) return false;
  const unpackedSize = files.reduce((sum, file) => sum + file.size, 0);
  await tx.execute(
    `INSERT INTO runtime_bundle
       (id, organization_id, pack_id, digest, base_runtime_bundle_id, file_count, unpacked_size, created_by)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, organizationId, packId, digest, baseRuntimeBundleId, files.length, unpackedSize, describeCaller(caller)],
  );
  return true;
}
