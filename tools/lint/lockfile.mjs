// The platforms that Muster runs on (README.md). npm can only write the sum of what its registry has for it to see, so
// the optional parts for other platforms may be without one: nobody who runs this installs them.
const platforms = { os: 'linux', cpu: ['x64', 'arm64'] };

/**
 * The packages that would be installed here without being compared with what was once looked at.
 * @type {(lockfile: { packages: object }) => string[]}
 */
export function unverifiedIn({ packages }) {
  return (
    Object.entries(packages)
      // What a package brings in its own archive is covered by the sum of that.
      .filter(([path, { integrity, link, inBundle }]) => path && !link && !integrity && !inBundle)
      .filter(
        ([, { optional, os, cpu }]) =>
          !optional || (takes(os, platforms.os) && platforms.cpu.some((each) => takes(cpu, each))),
      )
      .map(([path]) => path.replace(/^.*node_modules\//, ''))
  );
}

function takes(list, name) {
  if (!list) return true;
  return list.includes(name) || (list.every((each) => each.startsWith('!')) && !list.includes(`!${name}`));
}
