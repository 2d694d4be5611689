import { constants, lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { createUsageError } from '../frame/failure';

// A folder of workflows can come from another person. A symbolic link in it could make a push upload any file of this
// machine, or make a pull overwrite it. Therefore links are rejected and never followed.

/**
 * Flag with which opening a link fails. 0 on Windows, which has no such flag; creating a link there requires
 * privileges.
 */
const noFollow = constants.O_NOFOLLOW ?? 0;

/** Returns the bytes of a file, or undefined if the file does not exist. */
export function readPlainFile(file: string): Buffer | undefined {
  try {
    return readFileSync(file, { flag: constants.O_RDONLY | noFollow } as unknown as { flag: string });
  } catch (error) {
    if (getErrorCode(error) === 'ENOENT') return undefined;
    throw getErrorCode(error) === 'ELOOP' ? createLinkRefusedError(file) : error;
  }
}

export function writePlainFile(file: string, text: string): void {
  const flag = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | noFollow;
  try {
    writeFileSync(file, text, { flag: flag as unknown as string });
  } catch (error) {
    throw getErrorCode(error) === 'ELOOP' ? createLinkRefusedError(file) : error;
  }
}

/** Throws if the path is a symbolic link. Does not throw if the path does not exist. */
export function throwIfLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) throw createLinkRefusedError(path);
}

function createLinkRefusedError(path: string): Error {
  return createUsageError(
    `${path} is a symbolic link, which is not followed.`,
    'Replace the link with the file or folder itself.',
  );
}

function getErrorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
