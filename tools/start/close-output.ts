import { fchmodSync, fstatSync } from 'node:fs';

/** What is printed may go to a file; before there are credentials in it, it is closed to everybody but its owner. */
export function closeOutput(descriptor: number): void {
  const output = fstatSync(descriptor);
  if (output.isFile() && output.uid === process.getuid!()) fchmodSync(descriptor, output.mode & 0o700);
}
