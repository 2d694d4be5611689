import type { Database, PackVersionEntity, RuntimeBundleEntity, WorkflowPackEntity } from '@muster/database';
import { isUuid } from '@muster/platform';
import { toPrefixedDigest, packObjects } from './pack-objects';

interface DeployableBundle {
  objectKey: string;
  filename: string;
  digest: string;
}

/**
 * Finds the bundle of a pack, specified by its id or its workerKey, that a machine receives: the newest version in
 * production, else the newest version that an installation is pinned to, else the newest pilot version. Null if there
 * is no such version.
 */
export async function findDeployableBundle(
  database: Database,
  organizationId: string,
  pack: string,
): Promise<DeployableBundle | null> {
  const [found] = await database.query<
    Pick<WorkflowPackEntity, 'workerKey'> & Pick<PackVersionEntity, 'number'> & Pick<RuntimeBundleEntity, 'digest'>
  >(
    { organizationId },
    `SELECT p.worker_key, v.number, b.digest
     FROM workflow_pack p
     JOIN pack_version v ON v.pack_id = p.id
     JOIN runtime_bundle b ON b.id = v.runtime_bundle_id
     CROSS JOIN LATERAL (
       SELECT EXISTS (SELECT FROM pack_installation i WHERE i.pack_id = p.id AND i.pinned_version_id = v.id) AS is_pinned
     ) used
     WHERE p.organization_id = $1 AND (p.id = $2 OR p.worker_key = $3)
       AND (v.stage IN ('production', 'pilot') OR is_pinned)
     ORDER BY (p.id = $2) IS TRUE DESC, v.stage = 'production' DESC, is_pinned DESC, v.number DESC LIMIT 1`,
    [organizationId, isUuid(pack) ? pack : null, pack],
    'find_deployable_bundle',
  );
  if (!found) return null;
  const { workerKey, number, digest } = found;
  return {
    objectKey: packObjects.bundle(organizationId, digest),
    filename: `${workerKey}-${number}.zip`,
    digest: toPrefixedDigest(digest),
  };
}
