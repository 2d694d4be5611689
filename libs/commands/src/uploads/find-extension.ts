import { AppError } from '@muster/contracts';
import type { ArtifactEntity, Database } from '@muster/database';

/** A stored file, with its digest if it is known. */
interface FileToDeploy {
  objectKey: string;
  filename: string;
  digest?: string;
}

/** Finds a file in the packs by its key. Another library owns the packs, so the caller passes this function. */
export type FindInPacks = (organizationId: string, key: string) => Promise<FileToDeploy | null>;

/**
 * Returns the file that a deploy_extension command installs. With a key, it is the artifact with this storage key or
 * id, or else the file of a pack. Without a key, it is the newest artifact whose name contains the version. The worker
 * reads the file and rejects another version.
 */
export async function findExtension(
  database: Database,
  organizationId: string,
  { version, key }: { version: string; key: string | null },
  findInPacks: FindInPacks,
): Promise<FileToDeploy> {
  const named = key !== null;
  const [row] = await database.query<Pick<ArtifactEntity, 'storageKey' | 'filename'>>(
    { organizationId },
    `SELECT storage_key, filename
     FROM artifact
     WHERE organization_id = $1 AND ${named ? '(storage_key = $2 OR id::text = $2)' : 'filename ~* $2'}
     ORDER BY id DESC LIMIT 1`,
    [organizationId, named ? key : buildExtensionNamePattern(version)],
    named ? 'find_named_extension' : 'find_extension_of_version',
  );
  if (row) return { objectKey: row.storageKey, filename: row.filename };
  const packed = named ? await findInPacks(organizationId, key) : null;
  if (packed) return packed;
  const detail = named
    ? 'There is no artifact with this key, and no pack with this key that has a pinned version or a version in the stage production or pilot.'
    : `No extension of version ${version} was uploaded. The name of a .zip or .crx file must contain the version.`;
  throw new AppError('not_found', { detail });
}

/**
 * Returns a regular expression for the names of packed extensions that contain the version, but not as a part of a
 * longer number.
 */
function buildExtensionNamePattern(version: string): string {
  const plain = version.trim().replace(/^v/i, '');
  return `(^|[^0-9.])${plain.replace(/[^0-9A-Za-z]/g, (sign) => `\\${sign}`)}([^0-9.][^/]*)?\\.(zip|crx)$`;
}
