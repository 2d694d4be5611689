import { AppError } from '@muster/contracts';
import type { ArtifactEntity, Database } from '@muster/database';

/** A file in the store, with its digest where that is known. */
interface FileToDeploy {
  objectKey: string;
  filename: string;
  digest?: string;
}

/** Looks among the packs, which are not ours to read. */
export type FindInPacks = (organizationId: string, key: string) => Promise<FileToDeploy | null>;

/**
 * The file that a deploy_extension is about: the one that is named, by its key or its id, among artifacts and then among
 * packs; else the newest that was sent with that version in its name. What is in it, its worker sees, and refuses another version.
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
    [organizationId, named ? key : namesOf(version)],
    named ? 'find_named_extension' : 'find_extension_of_version',
  );
  if (row) return { objectKey: row.storageKey, filename: row.filename };
  const packed = named ? await findInPacks(organizationId, key) : null;
  if (packed) return packed;
  const detail = named
    ? 'There is no artifact with this key, and no pack with this key that has a version in production, in pilot or pinned.'
    : `No extension of version ${version} was uploaded. The name of a .zip or .crx file must contain the version.`;
  throw new AppError('not_found', { detail });
}

/** A packed extension with the version in its name, and no longer number around it. */
function namesOf(version: string): string {
  const plain = version.trim().replace(/^v/i, '');
  return `(^|[^0-9.])${plain.replace(/[^0-9A-Za-z]/g, (sign) => `\\${sign}`)}([^0-9.][^/]*)?\\.(zip|crx)$`;
}
