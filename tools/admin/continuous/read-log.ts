import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { AdminError } from '../admin-error';
import { type Manifest, paths } from '../backup/manifest';
import type { Repository } from '../backup/repository';
import type { BaseRecord } from './read-base';
import { findGap, getPieceFileName, parsePieceFileName, parsePosition, type WalPiece } from './wal-position';

export type ContinuousManifest = Manifest & { continuous: NonNullable<Manifest['continuous']> };

export function isContinuous(manifest: Manifest): manifest is ContinuousManifest {
  return manifest.continuous !== undefined;
}

/** Lists the saved pieces of the log in the order in which they were saved. Throws if a part is missing. */
export async function listPieces({ place }: Repository, manifest: ContinuousManifest): Promise<WalPiece[]> {
  const { id, continuous } = manifest;
  const pieces: WalPiece[] = [];
  for await (const path of place.list(`backups/${id}/wal/`)) {
    const piece = parsePieceFileName(path.slice(path.lastIndexOf('/') + 1));
    if (piece) pieces.push(piece);
  }
  const { segmentSize } = continuous;
  const start = parsePosition(continuous.start);
  const gap = findGap(pieces, start - (start % BigInt(segmentSize)), continuous);
  if (gap) throw new AdminError(`The log of the backup ${id} in ${place.name} is incomplete: ${gap} is missing.`);
  return pieces.sort((one, other) => one.number - other.number);
}

/** Reads a piece of the log. Throws if it is damaged. */
export async function* readSavedPiece(
  repository: Repository,
  { id }: Manifest,
  piece: WalPiece,
): AsyncGenerator<Buffer> {
  const path = paths.wal(id, getPieceFileName(piece));
  let size = 0;
  for await (const chunk of readDecrypted(repository, path)) {
    size += chunk.length;
    yield chunk;
  }
  if (size !== piece.to - piece.from)
    throw new AdminError(
      `The file ${path} in ${repository.place.name} is damaged: it has ${size} bytes instead of ${piece.to - piece.from}.`,
    );
}

/** Reads the records of a base backup. Each record's content is read before the next record. */
export async function* readSavedBase(
  repository: Repository,
  { id }: Manifest,
): AsyncGenerator<{ record: BaseRecord; content: Buffer }> {
  const path = paths.base(id);
  let buffer: Buffer = Buffer.alloc(0);
  let record: BaseRecord | null = null;
  for await (const chunk of readDecrypted(repository, path)) {
    buffer = buffer.length > 0 ? Buffer.concat([buffer, chunk]) : chunk;
    for (;;) {
      if (!record) {
        const end = buffer.indexOf(10);
        if (end < 0) break;
        record = JSON.parse(buffer.subarray(0, end).toString()) as BaseRecord;
        buffer = buffer.subarray(end + 1);
      }
      if (buffer.length < record.length) break;
      yield { record, content: buffer.subarray(0, record.length) };
      buffer = buffer.subarray(record.length);
      record = null;
    }
  }
  if (record || buffer.length > 0)
    throw new AdminError(`The file ${path} in ${repository.place.name} is damaged: it ends within a file.`);
}

async function* readDecrypted(repository: Repository, path: string): AsyncGenerator<Buffer> {
  const sealed = await repository.place.read(path);
  if (!sealed) throw new AdminError(`The file ${path} is missing in ${repository.place.name}.`);
  const content: Readable = pipeline(
    await repository.unseal(sealed, path),
    createGunzip({ chunkSize: 256 * 1024 }),
    () => undefined,
  );
  try {
    for await (const chunk of content) yield chunk as Buffer;
  } catch {
    throw new AdminError(`The file ${path} in ${repository.place.name} is damaged: it cannot be decrypted.`);
  }
}
