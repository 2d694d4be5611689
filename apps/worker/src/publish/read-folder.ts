import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { FileToZip } from '@muster/contracts/zip';

export const memoryFile = '.muster-pack.json';

/** Names that are left out: generated files, and metadata of the folder itself. */
const leftOut = new Set(['__pycache__', '.git', '.DS_Store', memoryFile]);
export const limits = { bytes: 512 * 1024 * 1024, entries: 10_000, ratio: 100 };

/** Error of a folder that must be changed before it can be published. */
export class Unpublishable extends Error {}

/** Returns every file in a folder, with its path relative to the folder. */
export function readFilesToZip(folder: string): FileToZip[] {
  const found = lstatSync(folder, { throwIfNoEntry: false });
  if (!found?.isDirectory()) throw new Unpublishable(`${folder} is not a folder`);
  const paths = listPaths(folder, '');
  if (!paths.length) throw new Unpublishable(`there are no files in ${folder}`);
  if (paths.length > limits.entries) {
    throw new Unpublishable(
      `there are ${paths.length} files in ${folder}; a bundle may have at most ${limits.entries}`,
    );
  }
  const bytes = paths.reduce((sum, path) => sum + lstatSync(join(folder, path)).size, 0);
  if (bytes > limits.bytes)
    throw new Unpublishable(`the files in ${folder} have ${bytes} bytes; a bundle may have at most ${limits.bytes}`);
  return paths.map((path) => ({
    path,
    content: readFileSync(join(folder, path)),
    isProgram: (lstatSync(join(folder, path)).mode & 0o100) !== 0,
  }));
}

function listPaths(folder: string, below: string): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    if (leftOut.has(entry.name)) return [];
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isDirectory()) return listPaths(folder, path);
    if (entry.isFile()) return [path];
    if (!entry.isSymbolicLink()) throw new Unpublishable(`${path} is neither a file nor a folder`);
    const target = readlinkSync(join(folder, path));
    throw new Unpublishable(
      `${path} is a link to ${target}; replace it with the file, because a bundle cannot contain links`,
    );
  });
}
