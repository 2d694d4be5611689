import { AppError } from '@muster/contracts';
import type { ArtifactEntity, Database } from '@muster/database';

type DeployedExtension = Pick<ArtifactEntity, 'storageKey' | 'filename'>;

/**
 * The file that a deploy_extension is about: the one that is named, by its key or its id, else the newest that was sent
 * with that version in its name. What is in it, its worker sees, and refuses another version.
 */
export async function findExtension(
  database: Database,
  organizationId: string,
  { version, key }: { version: string; key: string | null },
): Promise<DeployedExtension> {
  const named = key !== null;
  const [row] = await database.query<DeployedExtension>(
    { organizationId },
    `SELECT storage_key, filename
     FROM artifact
     WHERE organization_id = $1 AND ${named ? '(storage_key = $2 OR id::text = $2)' : 'filename ~* $2'}
     ORDER BY id DESC LIMIT 1`,
    [organizationId, named ? key : namesOf(version)],
    named ? 'find_named_extension' : 'find_extension_of_version',
  );
  if (row) return row;
  const detail = named
    ? 'There is no artifact of that key.'
    : `No extension of version ${version} has been uploaded: no .zip or .crx has that version in its name.`;
  throw new AppError('not_found', { detail });
}

/** A packed extension with the version in its name, and no longer number around it. */
function namesOf(version: string): string {
  const plain = version.trim().replace(/^v/i, '');
  return `(^|[^0-9.])${plain.replace(/[^0-9A-Za-z]/g, (sign) => `\\${sign}`)}([^0-9.][^/]*)?\\.(zip|crx)$`;
}
