import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ObjectStorage } from '@muster/storage';
import { AdminError } from '../admin-error';
import type { Manifest } from '../backup/manifest';
import type { Repository } from '../backup/repository';
import { readObject, readObjectKeys, type SavedObject } from '../backup/save-objects';
import { runForEach } from '../run-in-parallel';

interface RestoreObjectsOptions {
  repository: Repository;
  manifest: Manifest;
  /** The objects to restore; by default those that the backup lists. */
  objects?: SavedObject[];
  storage: ObjectStorage;
  onProgress: (line: string) => void;
}

const concurrency = 8;
const inMemoryUpTo = 8 * 1024 * 1024;

/**
 * Puts the backup's objects under their keys. Objects that already exist are skipped, so an interrupted restore
 * resumes.
 */
export async function restoreObjects({
  repository,
  manifest,
  objects: chosen,
  storage,
  onProgress,
}: RestoreObjectsOptions): Promise<void> {
  const objects = chosen ?? (await readObjectKeys(repository, manifest));
  const there = new Map<string, number>();
  if (objects.length > 0) for await (const { key, size } of storage.list('')) there.set(key, size);
  let count = 0;
  await runForEach(objects, concurrency, async (object) => {
    const { key, size } = object;
    if (there.get(key) !== size) {
      const saved = await readObject(repository, object);
      if (!saved) throw new AdminError(`The object ${key} is missing in ${repository.place.name}.`);
      if (size <= inMemoryUpTo) {
        const chunks: Buffer[] = [];
        for await (const chunk of saved.content) chunks.push(chunk as Buffer);
        await storage.put(key, Buffer.concat(chunks), saved.contentType);
      } else await putLargeObject(storage, { key, size, ...saved });
    }
    count += 1;
    onProgress(`objects: ${count} of ${objects.length}`);
  });
  const after = new Map<string, number>();
  if (objects.length > 0) for await (const { key, size } of storage.list('')) after.set(key, size);
  const missing = objects.find(({ key, size }) => after.get(key) !== size);
  if (missing)
    throw new AdminError(`The object ${missing.key} was restored, but the bucket does not list it with its size.`);
}

async function putLargeObject(
  storage: ObjectStorage,
  {
    key,
    size,
    content,
    contentType,
  }: { key: string; size: number; content: NodeJS.ReadableStream; contentType: string },
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-restore-'));
  try {
    const path = join(folder, 'object');
    await pipeline(content, createWriteStream(path));
    await storage.putFile(key, { path, size }, contentType);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
