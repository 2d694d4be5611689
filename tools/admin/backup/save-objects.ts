import { createHash } from 'node:crypto';
import { PassThrough, Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ObjectStorage } from '@muster/storage';
import { AdminError } from '../admin-error';
import { eachOf } from '../in-parallel';
import { gzip } from './dump-database';
import { type Manifest, paths } from './manifest';
import type { Repository } from './repository';

export interface SavedObject {
  key: string;
  /** Of its file: the hash of its key and of what the store says that its content hashes to. */
  name: string;
  size: number;
}

export interface SaveObjectsOptions {
  id: string;
  repository: Repository;
  storage: ObjectStorage;
  keys: string[];
  onProgress: (line: string) => void;
}

const atOnce = 8;

/**
 * Saves the objects of these keys, and of them only those that no earlier backup has. A row may name an object before it
 * is uploaded, and after retention removed it: those are counted as absent.
 */
export async function saveObjects(options: SaveObjectsOptions): Promise<Manifest['objects']> {
  const { id, repository, storage, keys, onProgress } = options;
  const wanted = new Set(keys);
  const found: SavedObject[] = [];
  if (wanted.size > 0)
    for await (const { key, size, etag } of storage.list(''))
      if (wanted.delete(key)) found.push({ key, size, name: nameOf({ key, size, etag }) });
  const known = new Set<string>();
  for await (const path of repository.place.list('objects/')) known.add(path.slice(path.lastIndexOf('/') + 1, -4));
  const fresh = found.filter(({ name }) => !known.has(name));
  const gone = new Set<string>();
  let added = 0;
  await eachOf(fresh, atOnce, async ({ key, name }) => {
    if (!(await saveObject(options, { key, name }))) gone.add(key);
    else added += 1;
    onProgress(`objects: ${added} of ${fresh.length} new ones (${found.length} in all)`);
  });
  const saved = found.filter(({ key }) => !gone.has(key));
  const { place } = repository;
  const lines = pipeline(Readable.from(saved.map((each) => `${JSON.stringify(each)}\n`)), gzip(), () => undefined);
  const names = pipeline(Readable.from(saved.map(({ name }) => `${name}\n`)), gzip(), () => undefined);
  return {
    count: saved.length,
    bytes: saved.reduce((sum, { size }) => sum + size, 0),
    added,
    absent: wanted.size + gone.size,
    keys: await place.write(paths.objectKeys(id), await repository.seal(lines)),
    names: await place.write(paths.objectNames(id), names),
  };
}

/** With its type in a first line. False where it was removed in the meantime. */
async function saveObject(
  { repository, storage }: SaveObjectsOptions,
  { key, name }: Pick<SavedObject, 'key' | 'name'>,
): Promise<boolean> {
  const object = await storage.read(key);
  if (!object) return false;
  const content = async function* () {
    yield Buffer.from(`${JSON.stringify({ contentType: object.contentType })}\n`);
    yield* object.chunks;
  };
  // Another file is saved as it was listed; one that was replaced since then is saved by the next backup.
  await repository.place.write(
    paths.object(name),
    await repository.seal(Readable.from(content(), { objectMode: false })),
  );
  return true;
}

export async function readObject(
  repository: Repository,
  { name, key }: Pick<SavedObject, 'name' | 'key'>,
): Promise<{ contentType: string; content: Readable } | null> {
  const path = paths.object(name);
  const sealed = await repository.place.read(path);
  if (!sealed) return null;
  const content = await repository.unseal(sealed, path);
  const chunks: AsyncIterator<Buffer> = content[Symbol.asyncIterator]();
  const damaged = new AdminError(
    `The file ${path} of ${repository.place.name} is damaged: it cannot be decrypted (the object ${key}).`,
  );
  let head = Buffer.alloc(0);
  while (!head.includes(10)) {
    const { value, done } = await chunks.next().catch(() => Promise.reject(damaged));
    if (done) throw damaged;
    head = Buffer.concat([head, value as Buffer]);
  }
  const end = head.indexOf(10);
  const rest = new PassThrough();
  rest.write(head.subarray(end + 1));
  pipeline(Readable.from(remaining(chunks), { objectMode: false }), rest, () => undefined);
  return {
    contentType: (JSON.parse(head.subarray(0, end).toString()) as { contentType: string }).contentType,
    content: rest,
  };
}

async function* remaining(chunks: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}

/** What a backup's list of objects says. */
export async function readObjectKeys(repository: Repository, { id }: Pick<Manifest, 'id'>): Promise<SavedObject[]> {
  const path = paths.objectKeys(id);
  const sealed = await repository.place.read(path);
  if (!sealed) return [];
  return (await textLines(pipeline(await repository.unseal(sealed, path), createGunzip(), () => undefined))).map(
    (line) => JSON.parse(line) as SavedObject,
  );
}

export async function textLines(content: Readable): Promise<string[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8').split('\n').filter(Boolean);
}

function nameOf({ key, size, etag }: { key: string; size: number; etag: string }): string {
  return createHash('sha256').update(`${key}\0${size}\0${etag}`).digest('hex');
}
