// How far npm has come with the dependencies: it says nothing itself where no terminal is.
import { access } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * The folders that `npm ci` fills on this machine, below the root of the clone.
 * @param {{ packages: Record<string, { optional?: boolean, os?: string[], cpu?: string[], libc?: string[], link?: boolean, inBundle?: boolean }> }} lockfile
 * @param {{ os: string, cpu: string, libc: string | undefined }} machine
 */
export function foldersOf({ packages }, machine = thisMachine()) {
  const left = Object.entries(packages)
    .filter(([, { optional, os, cpu, libc }]) => {
      const fits = allows(os, machine.os) && allows(cpu, machine.cpu) && allows(libc, machine.libc);
      return optional && !fits;
    })
    .map(([path]) => `${path}/`);
  return Object.entries(packages)
    .filter(([path, { link, inBundle }]) => path && !link && !inBundle)
    .map(([path]) => path)
    .filter((path) => !left.some((folder) => `${path}/`.startsWith(folder)));
}

/**
 * How many of these packages are there by now.
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
 * What npm is doing, by how many packages there are and were a moment ago. A few of the optional ones may never come.
 * @param {number} count
 * @param {number} before
 * @param {number} total
 */
export function installLine(count, before, total) {
  if (count < before) return `npm is removing old packages, ${count} are left`;
  if (count === 0) return 'npm is resolving packages and downloading the first ones';
  if (count === before && count > 0.98 * total)
    return `${count} packages are installed, npm is running install scripts`;
  return `${count} of about ${total} packages`;
}

function thisMachine() {
  const { glibcVersionRuntime } = process.report.getReport().header;
  return { os: process.platform, cpu: process.arch, libc: glibcVersionRuntime ? 'glibc' : 'musl' };
}

/** As npm reads such a list: names that are allowed, or names with `!` that are not. */
function allows(list, name) {
  if (!list) return true;
  return list.includes(name) || (list.every((each) => each.startsWith('!')) && !list.includes(`!${name}`));
}
