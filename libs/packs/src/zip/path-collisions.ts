import type { BundleFaultReason } from '@muster/contracts';

interface Known {
  path: string;
  kind: 'file' | 'folder' | 'implied';
}

/** The paths of one bundle, and what cannot lie beside what on a disk, also on one that knows no case. */
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
    // Both ways, as a letter may have more than one small or capital form.
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
