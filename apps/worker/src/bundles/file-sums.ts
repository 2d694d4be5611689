import type { UnpackedFile } from '../zip/unzip';

const maxBundles = 4;

/**
 * Remembers the SHA-256 of each file of the bundles that were unpacked last. The checksums are valid for later uses of
 * a bundle, because the bundle's bytes are verified against its digest before each use, and the same bytes unpack to
 * the same files. They are only in memory, where no script can change them.
 */
export class FileSums {
  private readonly byDigest = new Map<string, ReadonlyMap<string, string>>();

  getSums(digest: string): ReadonlyMap<string, string> | undefined {
    return this.byDigest.get(digest);
  }

  storeSums(digest: string, files: readonly UnpackedFile[]): void {
    const sums = this.byDigest.get(digest) ?? new Map(files.map(({ path, sha256 }) => [path, sha256]));
    // Moves the bundle to the end, so that the first one is the least recently used.
    this.byDigest.delete(digest);
    this.byDigest.set(digest, sums);
    const [oldest] = this.byDigest.keys();
    if (this.byDigest.size > maxBundles) this.byDigest.delete(oldest!);
  }
}
