import { createHash } from 'node:crypto';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AdminError } from '../admin-error';
import { runForEach } from '../run-in-parallel';
import type { Written } from '../place/place';
import {
  type ContinuousManifest,
  isContinuous,
  listPieces,
  readSavedBase,
  readSavedPiece,
} from '../continuous/read-log';
import { type Manifest, paths, type SavedTable } from './manifest';
import type { Repository } from './repository';
import { RowSum } from './row-sum';
import { readObject, readObjectKeys } from './save-objects';

const concurrency = 4;

/** Reads a whole backup as a restore would. Throws if a file is missing or changed. */
export async function verifyBackup(
  repository: Repository,
  manifest: Manifest,
  onProgress: (line: string) => void,
): Promise<void> {
  const { id, tables } = manifest;
  await repository.requireIdentity();
  await requireUnchanged(repository, paths.settings(id), manifest.settings);
  await requireUnchanged(repository, paths.objectKeys(id), manifest.objects.keys);
  await requireUnchanged(repository, paths.objectNames(id), manifest.objects.names);
  if (isContinuous(manifest)) await verifyLog(repository, manifest, onProgress);
  let count = 0;
  await runForEach(tables, concurrency, async (table) => {
    await requireUnchanged(repository, paths.table(id, table.name), table.file);
    const sum = new RowSum();
    for await (const chunk of await openTable(repository, manifest, table)) sum.addRow(chunk as Buffer);
    if (sum.rows !== table.rows || sum.hash !== table.hash)
      throw createDamagedFileError(
        repository,
        paths.table(id, table.name),
        'its rows differ from those that were saved',
      );
    count += 1;
    onProgress(`verify: ${count} of ${tables.length} tables`);
  });
  const objects = await readObjectKeys(repository, manifest);
  if (objects.length !== manifest.objects.count)
    throw createDamagedFileError(
      repository,
      paths.objectKeys(id),
      `it lists ${objects.length} objects instead of ${manifest.objects.count}`,
    );
  count = 0;
  await runForEach(objects, concurrency, async (object) => {
    const path = paths.object(object.name);
    const saved = await readObject(repository, object);
    if (!saved) throw new AdminError(`The object ${object.key} is missing in ${repository.place.name} (${path}).`);
    let size = 0;
    try {
      for await (const chunk of saved.content) size += (chunk as Buffer).length;
    } catch {
      throw createDamagedFileError(repository, path, `it cannot be decrypted (the object ${object.key})`);
    }
    if (size !== object.size)
      throw createDamagedFileError(repository, path, `${object.key} has ${size} bytes instead of ${object.size}`);
    count += 1;
    onProgress(`verify: ${count} of ${objects.length} objects`);
  });
}

/** Reads the base backup and the log of a continuous backup. */
async function verifyLog(
  repository: Repository,
  manifest: ContinuousManifest,
  onProgress: (line: string) => void,
): Promise<void> {
  await requireUnchanged(repository, paths.base(manifest.id), manifest.continuous.base);
  for await (const { record } of readSavedBase(repository, manifest)) onProgress(`verify: ${record.path}`);
  const pieces = await listPieces(repository, manifest);
  let count = 0;
  await runForEach(pieces, concurrency, async (piece) => {
    for await (const _ of readSavedPiece(repository, manifest, piece));
    count += 1;
    onProgress(`verify: ${count} of ${pieces.length} pieces of the log`);
  });
}

/** Opens a table's rows in COPY's text format. */
export async function openTable(repository: Repository, { id }: Manifest, { name }: SavedTable): Promise<Readable> {
  const path = paths.table(id, name);
  const sealed = await repository.place.read(path);
  if (!sealed) throw new AdminError(`The file ${path} is missing in ${repository.place.name}.`);
  return pipeline(await repository.unseal(sealed, path), createGunzip({ chunkSize: 256 * 1024 }), () => undefined);
}

async function requireUnchanged({ place }: Repository, path: string, written: Written): Promise<void> {
  const content = await place.read(path);
  if (!content) throw new AdminError(`The file ${path} is missing in ${place.name}.`);
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk as Buffer);
  if (hash.digest('hex') !== written.sha256)
    throw new AdminError(`The file ${path} in ${place.name} is damaged: it was changed after the backup was taken.`);
}

function createDamagedFileError({ place }: Repository, path: string, how: string): AdminError {
  return new AdminError(`The file ${path} in ${place.name} is damaged: ${how}.`);
}
