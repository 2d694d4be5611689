import type { BundleFaultReason } from '@muster/contracts';

interface KnownPath {
  path: string;
  kind: 'file' | 'folder' | 'implied';
}

/**
 * The paths of one bundle. Finds paths that cannot exist next to each other on a disk, including a disk that ignores
 * case.
 */
export class PathCollisions {
  private readonly paths = new Map<string, KnownPath>();

  addPath(path: string, isFolder: boolean): BundleFaultReason | null {
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      const fault = this.claimPath(path.slice(0, at), 'implied');
      if (fault) return fault;
    }
    return this.claimPath(path, isFolder ? 'folder' : 'file');
  }

  private claimPath(path: string, kind: KnownPath['kind']): BundleFaultReason | null {
    // The text is converted to upper case and then to lower case, because a letter can have more than one form in one
    // of them.
    const folded = path.toUpperCase().toLowerCase();
    const existing = this.paths.get(folded);
    if (!existing) {
      this.paths.set(folded, { path, kind });
      return null;
    }
    if (existing.path !== path) return 'case_collision';
    if (kind === 'implied') return existing.kind === 'file' ? 'duplicate_path' : null;
    if (kind === 'file' || existing.kind !== 'implied') return 'duplicate_path';
    existing.kind = 'folder';
    return null;
  }
}
