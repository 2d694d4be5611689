import { AppError } from '@muster/contracts';
import { readManifest } from '../drafts/draft-row';
import type { DraftParts } from '../drafts/take-draft';
import { toPrefixedDigest, packObjects } from '../pack-objects';
import { findPack } from '../packs/pack-row';
import { findVersion } from './version-row';
import { streamZip } from './stream-zip';

/** Names of the entries of an export. An import reads the same names. */
export const exportNames = { manifest: 'manifest.json', bundle: 'bundle.zip' };

/** Returns a zip of a version and its bundle, for another pack or another installation of the service. */
export async function exportVersion(
  { database, storage }: DraftParts,
  organizationId: string,
  { packId, versionId }: { packId: string; versionId: string },
): Promise<{ filename: string; bytes: AsyncIterable<Buffer> }> {
  const pack = await findPack(database, organizationId, packId);
  const version = await findVersion(database, organizationId, { packId, versionId });
  const { number, label, notes, digest, size, createdAt, createdBy } = version;
  const files = await readManifest(storage, organizationId, version.runtimeBundleId);
  const bundle = await storage.read(packObjects.bundle(organizationId, digest));
  if (!bundle)
    throw new AppError('service_unavailable', {
      detail: 'The bundle cannot be read from the object storage. Try again later.',
    });
  const { workerKey, name, description } = pack;
  const manifest = Buffer.from(
    JSON.stringify({
      format: 1,
      pack: { workerKey, name, description },
      version: { number, label, notes, createdAt: createdAt.toISOString(), createdBy },
      bundle: { digest: toPrefixedDigest(digest), size },
      files,
    }),
  );
  return {
    filename: `${workerKey}-${number}.zip`,
    bytes: streamZip([
      { name: exportNames.manifest, size: manifest.length, chunks: [manifest] },
      { name: exportNames.bundle, size, chunks: bundle.chunks },
    ]),
  };
}
