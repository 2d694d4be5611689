// Progress of npm's installation of the dependencies. npm itself prints no progress without a terminal.
import { access } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folders that `npm ci` fills on this machine, relative to the root of the clone.
 * @param {{ packages: Record<string, { optional?: boolean, os?: string[], cpu?: string[], libc?: string[], link?: boolean, inBundle?: boolean }> }} lockfile
 * @param {{ os: string, cpu: string, libc: string | undefined }} machine
 */
export function listPackageFolders({ packages }, machine = describeThisMachine()) {
  const skipped = Object.entries(packages)
    .filter(([, { optional, os, cpu, libc }]) => {
      const fits = allowsName(os, machine.os) && allowsName(cpu, machine.cpu) && allowsName(libc, machine.libc);
      return optional && !fits;
    })
    .map(([path]) => `${path}/`);
  return Object.entries(packages)
    .filter(([path, { link, inBundle }]) => path && !link && !inBundle)
    .map(([path]) => path)
    .filter((path) => !skipped.some((folder) => `${path}/`.startsWith(folder)));
}

/**
 * Counts the packages that are installed.
 * @param {string} root
 * @param {string[]} folders
 */
export async function countInstalled(root, folders) {
  const found = await Promise.all(
    folders.map((folder) =>
      access(join(root, folder, 'package.json')).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.filter(Boolean).length;
}

/**
 * Describes what npm is doing. Some optional packages may never be installed.
 * @param {number} count installed packages
 * @param {number} before installed packages at the last check
 * @param {number} total
 */
export function formatInstallLine(count, before, total) {
  if (count < before) return `npm removes the old packages, ${count} are left`;
  if (count === 0) return 'npm looks up the packages and fetches the first ones';
  if (count === before && count > 0.98 * total)
    return `${count} packages are installed, npm runs the install scripts of some`;
  return `${count} of about ${total} packages`;
}

function describeThisMachine() {
  const { glibcVersionRuntime } = process.report.getReport().header;
  return { os: process.platform, cpu: process.arch, libc: glibcVersionRuntime ? 'glibc' : 'musl' };
}

/** Interprets a list as npm does: names that are allowed, or names with `!` that are not. */
function allowsName(list, name) {
  if (!list) return true;
  return list.includes(name) || (list.every((each) => each.startsWith('!')) && !list.includes(`!${name}`));
}
