import type { Readable } from 'node:stream';

export interface Written {
  bytes: number;
  sha256: string;
}

/** A location where backups are stored as files. A file exists completely or not at all. */
export interface Place {
  /** The name that messages print. */
  readonly name: string;
  read(path: string): Promise<Readable | null>;
  write(path: string, content: Readable): Promise<Written>;
  /** The paths of all files below a folder. */
  list(folder: string): AsyncIterable<string>;
  remove(path: string): Promise<void>;
}

export async function readText(place: Place, path: string): Promise<string | null> {
  const content = await place.read(path);
  if (!content) return null;
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
