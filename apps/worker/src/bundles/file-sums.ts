import type { UnpackedFile } from '../zip/unzip';

const kept = 4;

/**
 * The SHA-256 of each file of the bundles that were unpacked last. A bundle's bytes are held against its digest before
 * each use, and the same bytes unpack to the same files; this is in memory alone, where no script can change it.
 */
export class FileSums {
  private readonly byDigest = new Map<string, ReadonlyMap<string, string>>();

  of(digest: string): ReadonlyMap<string, string> | undefined {
    return this.byDigest.get(digest);
  }

  keep(digest: string, files: readonly UnpackedFile[]): void {
    const sums = this.byDigest.get(digest) ?? new Map(files.map(({ path, sha256 }) => [path, sha256]));
    // What was used last stands last, and the first one goes.
    this.byDigest.delete(digest);
    this.byDigest.set(digest, sums);
    const [oldest] = this.byDigest.keys();
    if (this.byDigest.size > kept) this.byDigest.delete(oldest!);
  }
}
