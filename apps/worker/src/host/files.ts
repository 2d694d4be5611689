import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Replaces a file atomically: after a crash it has either the old content or the new content. */
export function writeAtomically(path: string, content: string | Buffer, mode = 0o600): void {
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.draft`);
  const file = openSync(draft, 'w', mode);
  try {
    const bytes = Buffer.from(content as string);
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
}

export function readJson<T>(path: string): T | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as T;
  } catch {
    return undefined;
  }
}
