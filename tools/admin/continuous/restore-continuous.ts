import { chmod, mkdir, open, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { ObjectStorage } from '@muster/storage';
import { migrateDatabase } from '@muster/database';
import { AdminError } from '../admin-error';
import { connectTo, queryRows, quoteIdentifier } from '../backup/dump-database';
import { readObjectKeys as readKeysOfRows } from '../backup/object-keys';
import type { Repository } from '../backup/repository';
import { readLaterObjects, readObjectKeys, type SavedObject } from '../backup/save-objects';
import { holdRestoredService } from '../restore/restore-database';
import { restoreObjects } from '../restore/restore-objects';
import { type ContinuousManifest, listPieces, readSavedBase, readSavedPiece } from './read-log';

interface ContinuousRestore {
  repository: Repository;
  manifest: ContinuousManifest;
  /** Time to which the database is restored; null for the newest saved state. */
  toTime: Date | null;
  onProgress: (line: string) => void;
}

/**
 * Writes the files of the base backup and the log into the folder of a server that is not running. At its next start,
 * the server replays the log.
 */
export async function writeServerFiles(
  data: string,
  { repository, manifest, toTime, onProgress }: ContinuousRestore,
): Promise<void> {
  await mkdir(data, { recursive: true, mode: 0o700 });
  let bytes = 0;
  for await (const { record, content } of readSavedBase(repository, manifest)) {
    const path = join(data, record.path);
    if (record.isFolder) {
      await mkdir(path, { recursive: true, mode: 0o700 });
      continue;
    }
    await writeAt(path, record.from, content);
    bytes += content.length;
    onProgress(`database: ${Math.floor(bytes / 1e6)} MB of files`);
  }
  const { segmentSize } = manifest.continuous;
  const pieces = await listPieces(repository, manifest);
  for (const [count, piece] of pieces.entries()) {
    const path = join(data, 'pg_wal', piece.segment);
    let at = piece.from;
    for await (const chunk of readSavedPiece(repository, manifest, piece)) {
      await writeAt(path, at, chunk);
      at += chunk.length;
    }
    const file = await open(path, 'r+');
    await file.truncate(segmentSize);
    await file.close();
    onProgress(`database: ${count + 1} of ${pieces.length} pieces of the log`);
  }
  await chmod(data, 0o700);
  // All of the log is in its folder, so there is nothing to fetch.
  const settings = { restore_command: 'false', recovery_target_action: 'promote' };
  const lines = Object.entries({
    ...settings,
    ...(toTime && { recovery_target_time: toTime.toISOString().replace('T', ' ').replace('Z', '+00') }),
  }).map(([name, value]) => `${name} = '${value}'\n`);
  const file = await open(join(data, 'postgresql.auto.conf'), 'a', 0o600);
  await file.write(lines.join(''));
  await file.close();
  await writeFile(join(data, 'recovery.signal'), '', { mode: 0o600 });
}

/**
 * Waits until the server has replayed the log, migrates the database, restores the objects that its rows refer to, reads
 * every table, and puts the service on hold. Returns the number of tables and objects.
 */
export async function finishContinuousRestore(
  { databaseUrl, storage }: { databaseUrl: string; storage: ObjectStorage },
  options: ContinuousRestore & { restoredTo: Date },
): Promise<{ tables: number; objects: number; absent: number }> {
  const { manifest, restoredTo, onProgress } = options;
  await waitForRecovery(databaseUrl, onProgress);
  const client = await connectTo(databaseUrl);
  try {
    for (const name of ['restore_command', 'recovery_target_action', 'recovery_target_time'])
      await client.query(`ALTER SYSTEM RESET ${name}`);
    // The backup may be of an older version, whose tables lack some keys.
    await migrateDatabase(databaseUrl);
    const keys = await readKeysOfRows(client);
    const objects = await chooseObjects(options, keys);
    await restoreObjects({ ...options, objects, storage });
    const tables = await queryRows<{ name: string }>(
      client,
      `SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
    );
    for (const [count, { name }] of tables.entries()) {
      // Postgres reports pages that it cannot read, and with checksums every damaged one.
      await client.query(`SELECT count(*) FROM ${quoteIdentifier(name)}`);
      onProgress(`verify: ${count + 1} of ${tables.length} tables of the database`);
    }
    await holdRestoredService(client, { id: manifest.id, savedAt: restoredTo.toISOString() });
    return { tables: tables.length, objects: objects.length, absent: keys.length - objects.length };
  } finally {
    await client.end();
  }
}

const pollMs = 200;

async function waitForRecovery(databaseUrl: string, onProgress: (line: string) => void): Promise<void> {
  const client = await connectTo(databaseUrl);
  try {
    for (;;) {
      const [{ replaying, at }] = await queryRows<{ replaying: boolean; at: string | null }>(
        client,
        'SELECT pg_is_in_recovery() AS replaying, pg_last_xact_replay_timestamp()::text AS at',
      );
      if (!replaying) return;
      onProgress(`database: replayed the log until ${at ?? 'its beginning'}`);
      await delay(pollMs);
    }
  } catch (error) {
    throw new AdminError(`The database stopped while it replayed the log: ${(error as Error).message}.`);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Returns, for each key that a row refers to, the version of the object at the time of the restore. */
async function chooseObjects(
  { repository, manifest, toTime }: ContinuousRestore,
  keys: string[],
): Promise<SavedObject[]> {
  const chosen = new Map<string, SavedObject>();
  for (const object of await readObjectKeys(repository, manifest)) chosen.set(object.key, object);
  // An object that was found after this time may have been uploaded before it.
  for (const object of await readLaterObjects(repository, manifest))
    if (!toTime || !chosen.has(object.key) || new Date(object.at) <= toTime) chosen.set(object.key, object);
  return [...new Set(keys)].flatMap((key) => chosen.get(key) ?? []);
}

async function writeAt(path: string, from: number, content: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, from === 0 ? 'w' : 'r+', 0o600);
  try {
    await file.write(content, 0, content.length, from);
  } finally {
    await file.close();
  }
}
