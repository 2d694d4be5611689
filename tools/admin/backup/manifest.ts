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
  /** For a partition, the partitioned table and the bounds as written in CREATE TABLE. Null for other tables. */
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
  const newest = found?.manifest;
  if (!newest) throw new AdminError(`There is no complete backup in ${place.name}.`);
  return newest;
}

function computeCheck(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}
