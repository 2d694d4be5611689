import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Place, Written } from './place';

/** Backups in a folder of this machine. A file gets its name only when it is complete and flushed to disk. */
export class FolderPlace implements Place {
  readonly name: string;

  constructor(private readonly root: string) {
    this.name = root;
  }

  async read(path: string): Promise<Readable | null> {
    try {
      const file = await open(join(this.root, path));
      return createReadStream('', { fd: file, highWaterMark: 256 * 1024 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  }

  async write(path: string, content: Readable): Promise<Written> {
    const target = join(this.root, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    const draft = `${target}.${randomBytes(4).toString('hex')}${draftEnding}`;
    try {
      const sum = new WrittenSum();
      await pipeline(content, sum, createWriteStream(draft, { mode: 0o600, flush: true }));
      await rename(draft, target);
      return sum.written;
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }

  async *list(folder: string): AsyncIterable<string> {
    const entries = await readdir(join(this.root, folder), { recursive: true, withFileTypes: true }).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return [];
        throw error;
      },
    );
    for (const entry of entries) {
      if (entry.isFile() && !entry.name.endsWith(draftEnding))
        yield relative(this.root, join(entry.parentPath, entry.name));
    }
  }

  async remove(path: string): Promise<void> {
    await rm(join(this.root, path), { force: true });
  }
}

const draftEnding = '.draft';

/** Length and hash of the bytes that pass through. */
export class WrittenSum extends Transform {
  private bytes = 0;
  private readonly hash = createHash('sha256');

  override _transform(chunk: Buffer, _encoding: string, done: (error: null, chunk: Buffer) => void): void {
    this.bytes += chunk.length;
    this.hash.update(chunk);
    done(null, chunk);
  }

  get written(): Written {
    return { bytes: this.bytes, sha256: this.hash.digest('hex') };
  }
}
