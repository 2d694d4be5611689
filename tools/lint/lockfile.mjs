/**
 * The packages that somebody would install without comparing them with what was once looked at: on any platform, since
 * developers have macOS and Windows too. npm writes the sum of what its registry has, so where a part for another
 * platform has none, its package takes the newest version of which the registry has all parts.
 * @type {(lockfile: { packages: object }) => string[]}
 */
export function unverifiedIn({ packages }) {
  return (
    Object.entries(packages)
      // What a package brings in its own archive is covered by the sum of that.
      .filter(([path, { integrity, link, inBundle }]) => path && !link && !isStrong(integrity) && !inBundle)
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
  );
}

/** Old entries may have SHA-1, for which somebody can make a second archive. */
function isStrong(integrity) {
  return /^sha(256|384|512)-/.test(integrity ?? '');
}
