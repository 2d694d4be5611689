import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { AdminError } from '../admin-error';
import { type Place, readText, type Written } from '../place/place';

/** A table's rows: one file in COPY's text format, which psql loads as well. */
export interface SavedTable {
  name: string;
  columns: string[];
  rows: number;
  hash: string;
  file: Written;
  /** For a partition, the partitioned table, and the bounds and options as written in CREATE TABLE. Null for other tables. */
  partition: { parent: string; bounds: string } | null;
}

/** Describes a backup and contains nothing secret. It is written last: a backup without a manifest is incomplete. */
export interface Manifest {
  formatVersion: number;
  id: string;
  /** Version of Muster that took the backup. */
  version: string;
  takenAt: string;
  postgres: string;
  migrations: string[];
  tables: SavedTable[];
  sequences: { name: string; value: string; called: boolean }[];
  objects: { count: number; bytes: number; added: number; absent: number; keys: Written; names: Written };
  settings: Written;
  /** Whether the master keys are among the settings, and which ids they have. */
  masterKeys: 'included' | 'left out';
  masterKeyIds: string[];
  /** The base backup and the log of a continuous backup, which saves the server's files and no tables. */
  continuous?: {
    base: Written;
    /** Position from which the log is replayed. */
    start: string;
    timeline: number;
    segmentSize: number;
  };
}

export const manifestFormatVersion = 1;

export const paths = {
  manifest: (id: string) => `backups/${id}/backup.json`,
  table: (id: string, table: string) => `backups/${id}/tables/${table}.copy.gz.age`,
  /** The key and file name of each object. Encrypted, because a key may identify whose image it is. */
  objectKeys: (id: string) => `backups/${id}/objects.jsonl.gz.age`,
  /** The file names alone, in plain text, so that old objects can be removed without a decryption key. */
  objectNames: (id: string) => `backups/${id}/objects.txt.gz`,
  settings: (id: string) => `backups/${id}/settings.json.age`,
  base: (id: string) => `backups/${id}/base.gz.age`,
  wal: (id: string, file: string) => `backups/${id}/wal/${file}`,
  /** Time up to which a continuous backup can be restored. */
  savedUntil: (id: string) => `backups/${id}/saved-until.json`,
  /** Objects that a continuous backup has found since its base backup. */
  laterObjectKeys: (id: string, number: string) => `backups/${id}/objects/${number}.jsonl.gz.age`,
  laterObjectNames: (id: string, number: string) => `backups/${id}/objects/${number}.txt.gz`,
  object: (name: string) => `objects/${name.slice(0, 2)}/${name}.age`,
};

export async function writeManifest(place: Place, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ sha256: computeCheck(manifest), ...manifest }, null, 1);
  await place.write(paths.manifest(manifest.id), Readable.from([Buffer.from(text)]));
}

export async function readManifest(place: Place, id: string): Promise<Manifest> {
  const text = await readText(place, paths.manifest(id));
  if (text === null) {
    for await (const _ of place.list(`backups/${id}/`))
      throw new AdminError(
        `The backup ${id} in ${place.name} was interrupted before it was complete; choose another one.`,
      );
    throw new AdminError(`There is no backup ${id} in ${place.name}.`);
  }
  const damaged = new AdminError(`The backup ${id} in ${place.name} is damaged: its backup.json was changed.`);
  let read: Manifest & { sha256?: string };
  try {
    read = JSON.parse(text) as Manifest & { sha256: string };
  } catch {
    throw damaged;
  }
  const { sha256, ...manifest } = read;
  // A newer version may compute the hash in another way.
  if (manifest.formatVersion > manifestFormatVersion)
    throw new AdminError(`The backup ${id} was made by Muster ${manifest.version}; restore it with that version.`);
  if (sha256 !== computeCheck(manifest)) throw damaged;
  return manifest;
}

export interface ListedBackup {
  id: string;
  manifest: Manifest | null;
  /** Reason why an existing manifest cannot be read. */
  fault?: string;
}

/** Lists all backups, the oldest first. An interrupted backup has no manifest. */
export async function listBackups(place: Place): Promise<ListedBackup[]> {
  const whole = new Map<string, boolean>();
  for await (const path of place.list('backups/')) {
    const [, id, file] = path.split('/');
    whole.set(id!, whole.get(id!) || file === 'backup.json');
  }
  const ids = [...whole].sort(([left], [right]) => (left < right ? -1 : 1));
  return Promise.all(
    ids.map(async ([id, isWhole]) => {
      if (!isWhole) return { id, manifest: null };
      return readManifest(place, id).then(
        (manifest) => ({ id, manifest }),
        (error: Error) => ({ id, manifest: null, fault: error.message }),
      );
    }),
  );
}

/** Returns the requested backup, or the newest complete one. */
export async function chooseBackup(place: Place, id?: string): Promise<Manifest> {
  if (id) return readManifest(place, id);
  const found = (await listBackups(place)).findLast(({ manifest, fault }) => manifest || fault);
  // If the newest backup is damaged, an older one is restored only on request.
  if (found?.fault) throw new AdminError(found.fault);
  const newest = findNewestBackup(await listBackupTimes(place));
  if (!newest) throw new AdminError(`There is no complete backup in ${place.name}.`);
  return newest.manifest;
}

/** Returns the newest continuous backup that can be restored to this time. */
export async function chooseBackupForTime(place: Place, at: Date): Promise<Manifest> {
  const continuous = (await listBackupTimes(place)).filter(({ manifest }) => manifest.continuous);
  const found = continuous.findLast(({ manifest, savedUntil }) => new Date(manifest.takenAt) <= at && at <= savedUntil);
  if (found) return found.manifest;
  const ranges = continuous.map(
    ({ manifest, savedUntil }) => `from ${manifest.takenAt} to ${savedUntil.toISOString()}`,
  );
  throw new AdminError(
    ranges.length
      ? `No backup in ${place.name} can be restored to ${at.toISOString()}; the continuous backups reach ${ranges.join(', ')}.`
      : `There is no continuous backup in ${place.name}, so nothing can be restored to a time.`,
  );
}

/** Returns the time of the newest state that a backup contains. */
export async function readSavedUntil(place: Place, manifest: Manifest): Promise<Date> {
  const text = manifest.continuous ? await readText(place, paths.savedUntil(manifest.id)) : null;
  return new Date(text ? (JSON.parse(text) as { at: string }).at : manifest.takenAt);
}

interface BackupTime {
  manifest: Manifest;
  savedUntil: Date;
}

/** Lists the complete backups, the oldest first, with the times of their newest states. */
export async function listBackupTimes(place: Place): Promise<BackupTime[]> {
  const manifests = (await listBackups(place)).flatMap(({ manifest }) => manifest ?? []);
  return Promise.all(
    manifests.map(async (manifest) => ({ manifest, savedUntil: await readSavedUntil(place, manifest) })),
  );
}

/** Returns the backup with the newest state. A continuous backup may be newer than one that was begun after it. */
export function findNewestBackup(backups: readonly BackupTime[]): BackupTime | undefined {
  const newest = Math.max(...backups.map(({ savedUntil }) => Number(savedUntil)));
  return backups.findLast(({ savedUntil }) => Number(savedUntil) === newest);
}

function computeCheck(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}
