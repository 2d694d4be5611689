import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checksum, ChecksumAlgorithm } from '../wire/checksums';
import { S3Error } from '../errors';
import { openStoredFile, syncDirectory, type StagedFile, type StoredFile } from './stored-file';

export interface Upload {
  id: string;
  bucket: string;
  key: string;
  headers: [name: string, value: string][];
  checksum?: Pick<Checksum, 'algorithm' | 'type'>;
}

export interface PartMetadata {
  number: number;
  etag: string;
  lastModified: string;
  checksum?: { algorithm: ChecksumAlgorithm; value: string };
}

export type Part = PartMetadata & { size: number };

/** Multipart uploads under way: a folder each, with its record and one file per part. */
export class Uploads {
  constructor(
    private readonly directory: string,
    private readonly tempDirectory: string,
  ) {
    mkdirSync(directory, { recursive: true });
  }

  async create(details: Omit<Upload, 'id'>): Promise<Upload> {
    const upload: Upload = { id: randomBytes(16).toString('hex'), ...details };
    const staged = join(this.tempDirectory, upload.id);
    await mkdir(staged);
    await writeFile(join(staged, RECORD), JSON.stringify(upload), { flush: true });
    await syncDirectory(staged);
    // The folder appears with its record or not at all.
    await rename(staged, this.pathOf(upload.id));
    await syncDirectory(this.directory);
    return upload;
  }

  async find({ id, bucket, key }: Pick<Upload, 'id' | 'bucket' | 'key'>): Promise<Upload> {
    const upload = UPLOAD_ID.test(id) ? await this.readRecord(id) : undefined;
    if (!upload || upload.bucket !== bucket || upload.key !== key) throw new S3Error('NoSuchUpload', { UploadId: id });
    return upload;
  }

  async putPart(upload: Upload, { path, metadata }: StagedFile<PartMetadata>): Promise<void> {
    try {
      renameSync(path, join(this.pathOf(upload.id), partName(metadata.number)));
      await syncDirectory(this.pathOf(upload.id));
    } catch (error) {
      rmSync(path, { force: true });
      // An upload that was aborted meanwhile is the likeliest reason, and deserves its own answer.
      throw this.isOpen(upload) ? error : new S3Error('NoSuchUpload', { UploadId: upload.id });
    }
  }

  async listParts(upload: Upload): Promise<Part[]> {
    const names = await readdir(this.pathOf(upload.id)).catch(() => []);
    const parts: Part[] = [];
    for (const name of names.filter((each) => each.startsWith(PART_PREFIX)).sort()) {
      const part = await openStoredFile<PartMetadata>(join(this.pathOf(upload.id), name));
      if (!part) continue;
      await part.handle.close();
      parts.push({ ...part.metadata, size: part.size });
    }
    return parts;
  }

  /** The caller closes the handle. */
  async openPart(upload: Upload, { number, etag }: Pick<Part, 'number' | 'etag'>): Promise<StoredFile<PartMetadata>> {
    const part = await openStoredFile<PartMetadata>(join(this.pathOf(upload.id), partName(number)));
    if (part?.metadata.etag === etag) return part;
    await part?.handle.close();
    throw new S3Error('InvalidPart', { UploadId: upload.id, PartNumber: `${number}`, ETag: etag });
  }

  /** Synchronous, so that completing can ask and act in one step. */
  isOpen(upload: Upload): boolean {
    return existsSync(this.pathOf(upload.id));
  }

  /** The rename ends the upload at once; the parts are deleted after it, or at the next start. */
  async remove(upload: Upload): Promise<void> {
    if (!this.isOpen(upload)) throw new S3Error('NoSuchUpload', { UploadId: upload.id });
    const retired = join(this.tempDirectory, `${upload.id}-${randomBytes(4).toString('hex')}`);
    renameSync(this.pathOf(upload.id), retired);
    await rm(retired, { recursive: true, force: true });
  }

  private async readRecord(id: string): Promise<Upload | undefined> {
    try {
      return JSON.parse(await readFile(join(this.pathOf(id), RECORD), 'utf8')) as Upload;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  private pathOf(id: string): string {
    return join(this.directory, id);
  }
}

const RECORD = 'upload.json';
const PART_PREFIX = 'part-';
/** Checked before an id becomes a path. */
const UPLOAD_ID = /^[0-9a-f]{32}$/;

function partName(number: number): string {
  return `${PART_PREFIX}${String(number).padStart(5, '0')}`;
}
