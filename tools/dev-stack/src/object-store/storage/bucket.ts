import { createHash } from 'node:crypto';
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { assertMayWrite, type WriteCondition } from '../conditions';
import { S3Error } from '../errors';
import { KeyIndex, type IndexEntry } from './key-index';
import type { ObjectMetadata } from './object-metadata';
import { openStoredFile, readStoredMetadata, syncDirectory, type StagedFile, type StoredFile } from './stored-file';

/** A bucket on disk. A file's name is the hash of its key, so a key cannot refer to a file outside the bucket. */
export class Bucket {
  readonly index: KeyIndex;

  constructor(
    readonly name: string,
    private readonly directory: string,
    onLog: (line: string) => void,
  ) {
    this.index = new KeyIndex(readEntries(directory, onLog));
  }

  /**
   * Synchronous, so that no other request runs between the check of the condition, the rename and the index update: of
   * many racing writers, exactly one finds the key absent. `flush` makes the change durable; respond only after it.
   */
  putFile({ path, metadata, size }: StagedFile<ObjectMetadata>, condition: WriteCondition): void {
    try {
      assertMayWrite(condition, this.index.getEntry(metadata.key));
      renameSync(path, this.getFilePath(metadata.key));
    } catch (error) {
      rmSync(path, { force: true });
      throw error;
    }
    this.index.setEntry(createIndexEntry(metadata, size));
  }

  /** Synchronous for the same reason as `putFile`. A missing key is not an error, because deletes are idempotent. */
  removeKey(key: string, condition: WriteCondition): void {
    const existing = this.index.getEntry(key);
    if (!existing) return;
    assertMayWrite(condition, existing);
    rmSync(this.getFilePath(key), { force: true });
    this.index.deleteEntry(key);
  }

  flush(): Promise<void> {
    return syncDirectory(this.directory);
  }

  /** Opens one complete version, even if the object is overwritten later. The caller closes the handle. */
  async open(key: string): Promise<StoredFile<ObjectMetadata>> {
    const file = await openStoredFile<ObjectMetadata>(this.getFilePath(key));
    if (!file) throw new S3Error('NoSuchKey', { Key: key });
    return file;
  }

  private getFilePath(key: string): string {
    return join(this.directory, buildFileName(key));
  }
}

function readEntries(directory: string, onLog: (line: string) => void): IndexEntry[] {
  return readdirSync(directory).flatMap((name) => {
    try {
      const { metadata, size } = readStoredMetadata<ObjectMetadata>(join(directory, name));
      if (buildFileName(metadata.key) !== name)
        throw new Error(`the file ${name} belongs to another object: its key is ${metadata.key}`);
      return [createIndexEntry(metadata, size)];
    } catch (error) {
      // One damaged file must not make the other objects unavailable.
      onLog(`object skipped while building the index: ${String(error)}`);
      return [];
    }
  });
}

function createIndexEntry({ key, etag, lastModified }: ObjectMetadata, size: number): IndexEntry {
  return { key, etag, lastModified, size };
}

function buildFileName(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}
