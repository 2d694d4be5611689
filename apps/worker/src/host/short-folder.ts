import { createHash } from 'node:crypto';
import { lstatSync, readlinkSync, symlinkSync, unlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Maximum length of TMPDIR in bytes. The path of a socket has at most 107 bytes, and a browser needs 60 of them below
 * TMPDIR. The folder of a run is deep in the worker's folder, so a longer path is replaced by a link in the system's
 * folder for temporary files.
 */
const longestTmpdir = 40;

/**
 * Returns the path that a run's scripts get as TMPDIR: the run's folder for temporary files or, if that path is too
 * long, a short link to it.
 */
export function openTemporaryFolder(runRoot: string): string {
  const folder = join(runRoot, 'tmp');
  if (Buffer.byteLength(folder) <= longestTmpdir) return folder;
  const link = getTemporaryLinkPath(runRoot);
  try {
    closeTemporaryFolder(runRoot);
    symlinkSync(folder, link);
    return link;
  } catch {
    // The link cannot be created: the system has no folder for temporary files, or the name of the link is in use. Most
    // scripts also work with the long path.
    return folder;
  }
}

/** Removes the link to a run's folder for temporary files. The folder itself is removed with the run. */
export function closeTemporaryFolder(runRoot: string): void {
  const link = getTemporaryLinkPath(runRoot);
  try {
    if (lstatSync(link).isSymbolicLink() && readlinkSync(link) === join(runRoot, 'tmp')) unlinkSync(link);
  } catch {
    // The folder for temporary files had a short path, so it has no link.
  }
}

/**
 * Returns the path of a run's symbolic link. The path is always the same for a run, so that the next worker removes a
 * link that a killed worker has left.
 */
function getTemporaryLinkPath(runRoot: string): string {
  const base = Buffer.byteLength(tmpdir()) <= longestTmpdir / 2 ? tmpdir() : '/tmp';
  return join(base, `muster-${createHash('sha256').update(runRoot).digest('hex').slice(0, 12)}`);
}
