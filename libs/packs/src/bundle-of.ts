import { AppError, type JobBundle } from '@muster/contracts';
import type {
  PackBundleEntity,
  PackInstallationEntity,
  PackVersionEntity,
  RuntimeBundleEntity,
  Transaction,
} from '@muster/database';
import type { ObjectStorage } from '@muster/storage';
import { digestOfHex, hexOfDigest, packObjects } from './pack-objects';

export interface BundleOfInstallation extends JobBundle {
  packId: string;
  manifestKey: string;
  size: number;
}

/**
 * What an installation runs now. Until the transaction ends nobody pins it elsewhere: a job that is launched in it is
 * there before the next pin or rollback looks.
 */
export async function bundleOf(
  tx: Transaction,
  organizationId: string,
  installationId: string,
): Promise<BundleOfInstallation> {
  const [installation] = await tx.query<Pick<PackInstallationEntity, 'packId' | 'pinnedVersionId'>>(
    'SELECT pack_id, pinned_version_id FROM pack_installation WHERE id = $1 AND organization_id = $2 FOR SHARE',
    [installationId, organizationId],
  );
  if (!installation) throw new AppError('not_found', { detail: 'There is no such installation.' });
  const { packId, pinnedVersionId: versionId } = installation;
  if (!versionId) {
    throw new AppError('no_pinned_version', { detail: 'The installation is not pinned to a version yet.' });
  }
  const [version] = await tx.query<
    Pick<PackVersionEntity, 'runtimeBundleId'> & Pick<RuntimeBundleEntity, 'digest'> & Pick<PackBundleEntity, 'size'>
  >(
    `SELECT v.runtime_bundle_id, b.digest, o.size
     FROM pack_version v
     JOIN runtime_bundle b ON b.id = v.runtime_bundle_id
     JOIN pack_bundle o ON o.organization_id = b.organization_id AND o.digest = b.digest
     WHERE v.id = $1 AND v.organization_id = $2`,
    [versionId, organizationId],
  );
  const { runtimeBundleId, digest, size } = version!;
  return {
    installationId,
    packId,
    versionId,
    runtimeBundleId,
    digest: digestOfHex(digest),
    manifestKey: packObjects.manifest(organizationId, runtimeBundleId),
    size,
  };
}

/** Where the bundle of a digest is read for a while, without credentials. */
export function bundleUrl(
  storage: ObjectStorage,
  organizationId: string,
  { digest, expiresInSeconds }: { digest: string; expiresInSeconds: number },
): Promise<string> {
  return storage.presignGet(packObjects.bundle(organizationId, hexOfDigest(digest)), { expiresInSeconds });
}
