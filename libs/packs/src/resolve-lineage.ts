import type { RunBuilderBody } from '@muster/contracts';
import type { PackVersionEntity, RuntimeBundleEntity, Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { toBundleObject } from './bundle-of';
import { toPrefixedDigest, packObjects } from './pack-objects';

export type RequestedLineage = Pick<
  RunBuilderBody,
  'workflowPackVersionId' | 'workflowPackInstallationId' | 'runtimeBundleId' | 'runtimeBundleManifestKey'
>;

export interface ResolvedLineage {
  lineage: Record<string, string>;
  bundle: ReturnType<typeof toBundleObject>;
}

/**
 * Finds the bundle for a builder phase by the most specific name in the request: the id of the bundle, the key of its
 * manifest, its version, or an installation with its pinned version. Null if none of the names exists here; the phase
 * then receives the names unchanged.
 */
export async function resolveLineage(
  tx: Transaction,
  organizationId: string,
  requested: RequestedLineage,
): Promise<ResolvedLineage | null> {
  const { runtimeBundleManifestKey, workflowPackVersionId, workflowPackInstallationId } = requested;
  const [, manifestBundleId] = /\/manifests\/([0-9a-f-]{36})\.json$/.exec(runtimeBundleManifestKey ?? '') ?? [];
  const names = [requested.runtimeBundleId ?? manifestBundleId, workflowPackVersionId, workflowPackInstallationId];
  const ids = names.map((name) => (name !== undefined && isUuid(name) ? name : null));
  if (ids.every((id) => id === null)) return null;
  const [found] = await tx.query<
    Pick<RuntimeBundleEntity, 'packId' | 'digest'> & {
      runtimeBundleId: RuntimeBundleEntity['id'];
      versionId: PackVersionEntity['id'] | null;
    }
  >(
    `SELECT b.id AS runtime_bundle_id, b.pack_id, b.digest, v.id AS version_id
     FROM runtime_bundle b LEFT JOIN pack_version v ON v.runtime_bundle_id = b.id
     WHERE b.organization_id = $1 AND b.stored_at IS NOT NULL AND b.id = COALESCE(
       $2::uuid,
       (SELECT runtime_bundle_id FROM pack_version WHERE id = $3 AND organization_id = $1),
       (SELECT p.runtime_bundle_id FROM pack_installation i JOIN pack_version p ON p.id = i.pinned_version_id
        WHERE i.id = $4 AND i.organization_id = $1))`,
    [organizationId, ...ids],
    'resolve_lineage',
  );
  if (!found) return null;
  const { runtimeBundleId, packId, versionId } = found;
  const digest = toPrefixedDigest(found.digest);
  return {
    lineage: {
      SERVICE_WORKFLOW_PACK_ID: packId,
      ...(versionId ? { SERVICE_WORKFLOW_PACK_VERSION_ID: versionId } : {}),
      SERVICE_RUNTIME_BUNDLE_ID: runtimeBundleId,
      SERVICE_RUNTIME_BUNDLE_MANIFEST_KEY: packObjects.manifest(organizationId, runtimeBundleId),
      SERVICE_RUNTIME_BUNDLE_DIGEST: digest,
    },
    bundle: toBundleObject(organizationId, { digest }),
  };
}
