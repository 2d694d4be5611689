import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Bucket } from './bucket';
import { assertBucketName } from './bucket-name';
import { S3Error } from '../errors';
import { syncDirectory } from './stored-file';

/** The data folder: `buckets/<name>/<hash of the key>`, and `temp/` for uploads that are not complete. */
export class Store {
  readonly tempDirectory: string;
  private readonly bucketsDirectory: string;
  private readonly buckets = new Map<string, { bucket: Bucket; createdAt: Date }>();

  constructor(
    dataDir: string,
    private readonly onLog: (line: string) => void,
  ) {
    // The folders above may be accessible to other users.
    mkdirSync(dataDir, { recursive: true });
    chmodSync(dataDir, 0o700);
    this.tempDirectory = join(dataDir, 'temp');
    // Files in the temp folder belong to uploads that were interrupted and never acknowledged.
    rmSync(this.tempDirectory, { recursive: true, force: true });
    mkdirSync(this.tempDirectory, { recursive: true });
    this.bucketsDirectory = join(dataDir, 'buckets');
    mkdirSync(this.bucketsDirectory, { recursive: true });
    for (const name of readdirSync(this.bucketsDirectory)) this.loadBucket(name);
  }

  /** Returns false if the bucket already existed. */
  async createBucket(name: string): Promise<boolean> {
    assertBucketName(name);
    if (this.buckets.has(name)) return false;
    mkdirSync(join(this.bucketsDirectory, name));
    this.loadBucket(name);
    await syncDirectory(this.bucketsDirectory);
    return true;
  }

  getBucket(name: string): Bucket {
    const found = this.buckets.get(name);
    if (!found) throw new S3Error('NoSuchBucket', { BucketName: name });
    return found.bucket;
  }

  listBuckets(): { name: string; createdAt: Date }[] {
    return [...this.buckets]
      .map(([name, { createdAt }]) => ({ name, createdAt }))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  private loadBucket(name: string): void {
    const directory = join(this.bucketsDirectory, name);
    const createdAt = statSync(directory).birthtime;
    this.buckets.set(name, { bucket: new Bucket(name, directory, this.onLog), createdAt });
  }
}
