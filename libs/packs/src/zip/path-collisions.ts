import type { BundleFaultReason } from '@muster/contracts';

interface Known {
  path: string;
  kind: 'file' | 'folder' | 'implied';
}

/**
 * The paths of one bundle. Finds paths that cannot exist next to each other on a disk, including a disk that ignores
 * case.
 */
export class PathCollisions {
  private readonly known = new Map<string, Known>();

  add(path: string, isFolder: boolean): BundleFaultReason | null {
    for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
      const fault = this.take(path.slice(0, at), 'implied');
      if (fault) return fault;
    }
    return this.take(path, isFolder ? 'folder' : 'file');
  }

  private take(path: string, kind: Known['kind']): BundleFaultReason | null {
    // Convert in both directions, because a letter may have more than one lowercase or uppercase form.
    const folded = path.toUpperCase().toLowerCase();
    const before = this.known.get(folded);
    if (!before) {
      this.known.set(folded, { path, kind });
      return null;
    }
    if (before.path !== path) return 'case_collision';
    if (kind === 'implied') return before.kind === 'file' ? 'duplicate_path' : null;
    if (kind === 'file' || before.kind !== 'implied') return 'duplicate_path';
    before.kind = 'folder';
    return null;
  }
}
