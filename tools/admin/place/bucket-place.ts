import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectStorage } from '@muster/storage';
import { WrittenSum } from './folder-place';
import type { Place, Written } from './place';

/**
 * Backups below a prefix of a bucket. A file is first written to the temporary folder of this machine, because its
 * length must be known before the upload.
 */
export class BucketPlace implements Place {
  constructor(
    readonly name: string,
    private readonly storage: ObjectStorage,
    private readonly prefix: string,
  ) {}

  async read(path: string): Promise<Readable | null> {
    const found = await this.storage.read(`${this.prefix}${path}`);
    return found && Readable.from(found.chunks, { objectMode: false });
  }

  async write(path: string, content: Readable): Promise<Written> {
    const folder = await mkdtemp(join(tmpdir(), 'muster-backup-'));
    try {
      const file = join(folder, 'file');
      const sum = new WrittenSum();
      await pipeline(content, sum, createWriteStream(file, { mode: 0o600 }));
      const { written } = sum;
      await this.storage.putFile(
        `${this.prefix}${path}`,
        { path: file, size: written.bytes },
        'application/octet-stream',
      );
      return written;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async *list(folder: string): AsyncIterable<string> {
    for await (const { key } of this.storage.list(`${this.prefix}${folder}`)) yield key.slice(this.prefix.length);
  }

  async remove(path: string): Promise<void> {
    await this.storage.delete(`${this.prefix}${path}`);
  }
}
