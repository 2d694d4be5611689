import { createHash } from 'node:crypto';
import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The path of a socket has 107 bytes at most, and a browser puts one 60 bytes further down from TMPDIR. The folder of
 * a run lies deep below the worker's own, so it goes by a second, short name: a link in the system's folder for
 * temporary files.
 */
const longestTmpdir = 40;

/** A run's folder for temporary files, by the name that its scripts get. */
export function openTemporaryFolder(runRoot: string): string {
  const folder = join(runRoot, 'tmp');
  if (Buffer.byteLength(folder) <= longestTmpdir) return folder;
  const link = linkOf(runRoot);
  try {
    closeTemporaryFolder(runRoot);
    symlinkSync(folder, link);
    return link;
  } catch {
    // No such folder here, or somebody else has that name: most scripts get along with the long one.
    return folder;
  }
}

/** The short name goes; the folder is the run's to remove. */
export function closeTemporaryFolder(runRoot: string): void {
  const link = linkOf(runRoot);
  try {
    if (lstatSync(link).isSymbolicLink() && readlinkSync(link) === join(runRoot, 'tmp')) unlinkSync(link);
  } catch {
    // There is none.
  }
}

/** The same for whichever worker asks, so that the next one removes what one that was killed has left. */
function linkOf(runRoot: string): string {
  const base = Buffer.byteLength(tmpdir()) <= longestTmpdir / 2 ? tmpdir() : '/tmp';
  return join(base, `muster-${createHash('sha256').update(runRoot).digest('hex').slice(0, 12)}`);
}
