import { constants, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { usageFault } from '../frame/failure';

// A folder of workflows may come from somebody else. A symbolic link in it could send any file of this machine to the
// service, or have a pull write over one, so links are refused and never followed.

/** Windows has no such flag; making a link there needs privileges. */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** The file's bytes, or undefined if there is no such file. */
export function readPlainFile(file: string): Buffer | undefined {
  try {
    return readFileSync(file, { flag: constants.O_RDONLY | noFollow } as unknown as { flag: string });
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw codeOf(error) === 'ELOOP' ? linkRefused(file) : error;
  }
}

export function writePlainFile(file: string, text: string): void {
  const flag = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | noFollow;
  try {
    writeFileSync(file, text, { flag: flag as unknown as string });
  } catch (error) {
    throw codeOf(error) === 'ELOOP' ? linkRefused(file) : error;
  }
}

/** Throws if the path is a symbolic link. A path that does not exist is none. */
export function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw linkRefused(path);
}

function linkRefused(path: string): Error {
  return usageFault(`${path} is a symbolic link, which is not followed.`, 'Put the file or folder itself there.');
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
