import { fchmodSync, fstatSync } from 'node:fs';

/**
 * Makes the output file readable by its owner only, before credentials are printed. Does nothing if the output is not a
 * file.
 */
export function closeOutput(descriptor: number): void {
  const output = fstatSync(descriptor);
  if (output.isFile() && output.uid === process.getuid!()) fchmodSync(descriptor, output.mode & 0o700);
}
