import { createHash } from 'node:crypto';
import { PassThrough, Readable, pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ObjectStorage } from '@muster/storage';
import { AdminError } from '../admin-error';
import { runForEach } from '../run-in-parallel';
import { createGzipStream } from './dump-database';
import { type Manifest, paths } from './manifest';
import type { Repository } from './repository';

export interface SavedObject {
  key: string;
  /** Name of the object's file: a hash of its key, its size and the ETag of the object store. */
  name: string;
  size: number;
}

export interface SaveObjectsOptions {
  id: string;
  repository: Repository;
  storage: ObjectStorage;
  keys: string[];
  onProgress: (line: string) => void;
  onSaved?: (object: SavedObject) => void;
}

const concurrency = 8;

/**
 * Saves the objects with these keys that no earlier backup has. A row may refer to an object that is not uploaded yet
 * or that retention has removed; such objects are counted as absent.
 */
export async function saveObjects(options: SaveObjectsOptions): Promise<Manifest['objects']> {
  const { id, repository, storage, keys, onProgress } = options;
  const wanted = new Set(keys);
  const found: SavedObject[] = [];
  if (wanted.size > 0)
    for await (const { key, size, etag } of storage.list(''))
      if (wanted.delete(key)) found.push({ key, size, name: buildObjectName({ key, size, etag }) });
  const saved = new Set<string>();
  for await (const path of repository.place.list('objects/')) saved.add(path.slice(path.lastIndexOf('/') + 1, -4));
  const newObjects = found.filter(({ name }) => !saved.has(name));
  const gone = new Set<string>();
  let added = 0;
  await runForEach(newObjects, concurrency, async ({ key, name }) => {
    if (!(await saveObject(options, { key, name }))) gone.add(key);
    else added += 1;
    onProgress(`objects: ${added} of ${newObjects.length} new objects (${found.length} in total)`);
  });
  const listed = found.filter(({ key }) => !gone.has(key));
  if (options.onSaved) listed.forEach(options.onSaved);
  const { place } = repository;
  const lines = pipeline(
    Readable.from(listed.map((each) => `${JSON.stringify(each)}\n`)),
    createGzipStream(),
    () => undefined,
  );
  const names = pipeline(Readable.from(listed.map(({ name }) => `${name}\n`)), createGzipStream(), () => undefined);
  return {
    count: listed.length,
    bytes: listed.reduce((sum, { size }) => sum + size, 0),
    added,
    absent: wanted.size + gone.size,
    keys: await place.write(paths.objectKeys(id), await repository.seal(lines)),
    names: await place.write(paths.objectNames(id), names),
  };
}

interface NewObjects {
  id: string;
  /** Number of the list, which sorts after the earlier ones. */
  number: string;
  repository: Repository;
  storage: ObjectStorage;
  /** File names of the objects that are saved, by key. */
  known: Map<string, string>;
}

/**
 * Saves the objects of the bucket that are not `known`, adds them to it, and lists them with the time. Returns their
 * number. The names are listed first, so that no `prune` removes an object that is being saved.
 */
export async function saveNewObjects({ id, number, repository, storage, known }: NewObjects): Promise<number> {
  const at = new Date().toISOString();
  const found: SavedObject[] = [];
  for await (const { key, size, etag } of storage.list('')) {
    const name = buildObjectName({ key, size, etag });
    if (known.get(key) !== name) found.push({ key, size, name });
  }
  if (found.length === 0) return 0;
  const { place } = repository;
  const compress = (lines: string[]) => pipeline(Readable.from(lines), createGzipStream(), () => undefined);
  await place.write(paths.laterObjectNames(id, number), compress(found.map(({ name }) => `${name}\n`)));
  const saved: SavedObject[] = [];
  await runForEach(found, concurrency, async (object) => {
    if (await saveObject({ repository, storage }, object)) saved.push(object);
  });
  const lines = saved.map((object) => `${JSON.stringify({ ...object, at })}\n`);
  await place.write(paths.laterObjectKeys(id, number), await repository.seal(compress(lines)));
  for (const { key, name } of saved) known.set(key, name);
  return saved.length;
}

/**
 * Saves an object's content after a first line with its content type. Returns false if the object was removed after it
 * was listed.
 */
async function saveObject(
  { repository, storage }: Pick<SaveObjectsOptions, 'repository' | 'storage'>,
  { key, name }: Pick<SavedObject, 'key' | 'name'>,
): Promise<boolean> {
  const object = await storage.read(key);
  if (!object) return false;
  const readContent = async function* () {
    yield Buffer.from(`${JSON.stringify({ contentType: object.contentType })}\n`);
    yield* object.chunks;
  };
  // The file has the name of the listed version. If the object was replaced after it was listed, the next backup saves
  // it under another name.
  await repository.place.write(
    paths.object(name),
    await repository.seal(Readable.from(readContent(), { objectMode: false })),
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
    `The file ${path} in ${repository.place.name} is damaged: it cannot be decrypted (the object ${key}).`,
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
  pipeline(Readable.from(iterateRemaining(chunks), { objectMode: false }), rest, () => undefined);
  return {
    contentType: (JSON.parse(head.subarray(0, end).toString()) as { contentType: string }).contentType,
    content: rest,
  };
}

async function* iterateRemaining(chunks: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  for (let next = await chunks.next(); !next.done; next = await chunks.next()) yield next.value;
}

/** Reads a backup's list of objects. */
export function readObjectKeys(repository: Repository, { id }: Pick<Manifest, 'id'>): Promise<SavedObject[]> {
  return readObjectList(repository, paths.objectKeys(id));
}

/** Reads the objects that a continuous backup has found since its base backup, the oldest first. */
export async function readLaterObjects(
  repository: Repository,
  { id }: Pick<Manifest, 'id'>,
): Promise<(SavedObject & { at: string })[]> {
  const lists: string[] = [];
  for await (const path of repository.place.list(`backups/${id}/objects/`))
    if (path.endsWith('.jsonl.gz.age')) lists.push(path);
  const all: SavedObject[][] = [];
  for (const path of lists.sort()) all.push(await readObjectList(repository, path));
  return all.flat() as (SavedObject & { at: string })[];
}

async function readObjectList(repository: Repository, path: string): Promise<SavedObject[]> {
  const sealed = await repository.place.read(path);
  if (!sealed) return [];
  return (await readTextLines(pipeline(await repository.unseal(sealed, path), createGunzip(), () => undefined))).map(
    (line) => JSON.parse(line) as SavedObject,
  );
}

export async function readTextLines(content: Readable): Promise<string[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8').split('\n').filter(Boolean);
}

function buildObjectName({ key, size, etag }: { key: string; size: number; etag: string }): string {
  return createHash('sha256').update(`${key}\0${size}\0${etag}`).digest('hex');
}
