import type { VersionDiff } from '@muster/contracts';
import { readManifest } from '../drafts/draft-row';
import type { DraftParts } from '../drafts/take-draft';
import { toPrefixedDigest } from '../pack-objects';
import { findVersion } from './version-row';

/** Returns the differences between two versions of a pack. */
export async function compareVersions(
  { database, storage }: DraftParts,
  organizationId: string,
  { packId, versionId, from }: { packId: string; versionId: string; from: string },
): Promise<VersionDiff> {
  const readFilesOfVersion = async (id: string) => {
    const { runtimeBundleId } = await findVersion(database, organizationId, { packId, versionId: id });
    const files = await readManifest(storage, organizationId, runtimeBundleId);
    return new Map(files.map(({ path, sha256 }) => [path, toPrefixedDigest(sha256)]));
  };
  const [before, after] = [await readFilesOfVersion(from), await readFilesOfVersion(versionId)];
  return {
    added: [...after.keys()].filter((path) => !before.has(path)),
    removed: [...before.keys()].filter((path) => !after.has(path)),
    changed: [...after].flatMap(([path, to]) => {
      const previous = before.get(path);
      return previous === undefined || previous === to ? [] : [{ path, from: previous, to }];
    }),
  };
}
