import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FileToZip } from '@muster/contracts/zip';
import { createUsageError } from '../frame/failure';
import { throwIfLink } from './plain-file';

/** Files and folders that are not part of a pack: generated files, and metadata of the folder. */
const leftOut = new Set(['__pycache__', '.git', '.DS_Store', '.muster-pack.json']);

/** Reads every file below a folder, with its path relative to the folder. */
export function readPackFiles(folder: string): FileToZip[] {
  // If a path ends in a slash, the system follows the link that it names. Shells add such a slash when they complete a
  // path; `resolve` removes it.
  throwIfLink(resolve(folder));
  if (!lstatSync(folder, { throwIfNoEntry: false })?.isDirectory())
    throw createUsageError(`The folder ${folder} does not exist. Check its path.`);
  const files = listPaths(folder, '').map((path) => ({
    path,
    content: readFileSync(join(folder, path)),
    isProgram: (lstatSync(join(folder, path)).mode & 0o100) !== 0,
  }));
  if (!files.length) throw createUsageError(`The folder ${folder} contains no files. Specify the folder of the pack.`);
  return files;
}

export function listInventory(files: FileToZip[]): { path: string; size: number; sha256: string }[] {
  return files.map(({ path, content }) => ({
    path,
    size: content.length,
    sha256: createHash('sha256').update(content).digest('hex'),
  }));
}

function listPaths(folder: string, below: string): string[] {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    if (leftOut.has(entry.name)) return [];
    const path = below ? `${below}/${entry.name}` : entry.name;
    if (entry.isDirectory()) return listPaths(folder, path);
    if (entry.isFile()) return [path];
    throw createUsageError(
      `${path} is a link or another special file.`,
      'A pack can contain only files and folders. Replace a link with the file itself.',
    );
  });
}
