/**
 * Returns the packages without a strong checksum, whose archives npm would install without a comparison. All platforms
 * are checked, because developers also use macOS and Windows. npm copies checksums from its registry. If a package for
 * another platform has none there, use the newest version whose packages all have one.
 * @type {(lockfile: { packages: object }) => string[]}
 */
export function listUnverifiedPackages({ packages }) {
  return (
    Object.entries(packages)
      // Packages that are bundled in another package's archive are covered by its checksum.
      .filter(([path, { integrity, link, inBundle }]) => path && !link && !isStrongHash(integrity) && !inBundle)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
  );
}

/**
 * Whether the checksum is strong. Older entries may have SHA-1, for which an attacker could create a second archive.
 */
function isStrongHash(integrity) {
  return /^sha(256|384|512)-/.test(integrity ?? '');
}
