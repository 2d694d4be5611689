import { AppError, type JobBundle, notFoundError } from '@muster/contracts';
import type {
  PackBundleEntity,
  PackInstallationEntity,
  PackVersionEntity,
  RuntimeBundleEntity,
  Transaction,
} from '@muster/database';
import { toPrefixedDigest, digestToHex, packObjects } from './pack-objects';

export interface BundleOfInstallation extends JobBundle {
  packId: string;
  manifestKey: string;
  size: number;
}

/**
 * Returns the bundle that an installation runs now. The row lock prevents pins and rollbacks until the transaction
 * ends, so the next pin or rollback sees a job that is launched in this transaction.
 */
export async function lockBundleOfInstallation(
  tx: Transaction,
  organizationId: string,
  installationId: string,
): Promise<BundleOfInstallation> {
  const [installation] = await tx.query<Pick<PackInstallationEntity, 'packId' | 'pinnedVersionId'>>(
    'SELECT pack_id, pinned_version_id FROM pack_installation WHERE id = $1 AND organization_id = $2 FOR SHARE',
    [installationId, organizationId],
  );
  if (!installation) throw notFoundError('installation');
  const { packId, pinnedVersionId: versionId } = installation;
  if (!versionId) {
    throw new AppError('no_pinned_version', {
      detail: 'The installation is not pinned to a version yet. Pin it to a version first.',
    });
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
    digest: toPrefixedDigest(digest),
    manifestKey: packObjects.manifest(organizationId, runtimeBundleId),
    size,
  };
}

/** Returns the references that a run stores for good, and the environment variables for its script. */
export function buildPackLineage(bundle: BundleOfInstallation): { bundle: JobBundle; lineage: Record<string, string> } {
  const { installationId, packId, versionId, runtimeBundleId, manifestKey, digest } = bundle;
  return {
    bundle: { installationId, versionId, runtimeBundleId, digest },
    lineage: {
      SERVICE_WORKFLOW_PACK_ID: packId,
      SERVICE_WORKFLOW_PACK_VERSION_ID: versionId,
      SERVICE_WORKFLOW_PACK_INSTALLATION_ID: installationId,
      SERVICE_RUNTIME_BUNDLE_ID: runtimeBundleId,
      SERVICE_RUNTIME_BUNDLE_MANIFEST_KEY: manifestKey,
      SERVICE_RUNTIME_BUNDLE_DIGEST: digest,
    },
  };
}

/** Returns a bundle in the form of a command. The download URL is added when the command is delivered. */
export function toBundleObject(
  organizationId: string,
  { digest }: { digest: string },
): { digest: string; objectKey: string } {
  return { digest, objectKey: packObjects.bundle(organizationId, digestToHex(digest)) };
}
