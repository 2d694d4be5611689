import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Bytes in a temporary file, so that they need not be in memory. */
export interface Spooled {
  path: string;
  size: number;
  /** SHA-256 of the spooled bytes in hex. */
  digest: string;
}

/** Creates a temporary folder for the work, and deletes it afterwards. */
export async function runWithSpool<T>(
  work: (spool: (chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>) => Promise<Spooled>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-bundle-'));
  let count = 0;
  try {
    return await work(async (chunks) => {
      const path = join(folder, String((count += 1)));
      const hash = createHash('sha256');
      let size = 0;
      const countChunks = async function* () {
        for await (const chunk of chunks) {
          size += chunk.length;
          hash.update(chunk);
          yield chunk;
        }
      };
      await pipeline(countChunks, createWriteStream(path));
      return { path, size, digest: hash.digest('hex') };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
