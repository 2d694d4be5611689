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
  /** Of a partition: what it is a partition of, and its bounds as they stand in CREATE TABLE. */
  partition: { parent: string; bounds: string } | null;
}

/** What a backup is, without anything that is secret. It is written last: a backup without it is not whole. */
export interface Manifest {
  format: number;
  id: string;
  /** Of the Muster that took it. */
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

export const manifestFormat = 1;

export const paths = {
  manifest: (id: string) => `backups/${id}/backup.json`,
  table: (id: string, table: string) => `backups/${id}/tables/${table}.copy.gz.age`,
  /** Each object's key with its name here, sealed, as file names may say whose picture it is. */
  objectKeys: (id: string) => `backups/${id}/objects.jsonl.gz.age`,
  /** The names alone, so that old ones can be removed without a key. */
  objectNames: (id: string) => `backups/${id}/objects.txt.gz`,
  settings: (id: string) => `backups/${id}/settings.json.age`,
  object: (name: string) => `objects/${name.slice(0, 2)}/${name}.age`,
};

export async function writeManifest(place: Place, manifest: Manifest): Promise<void> {
  const text = JSON.stringify({ sha256: checkOf(manifest), ...manifest }, null, 1);
  await place.write(paths.manifest(manifest.id), Readable.from([Buffer.from(text)]));
}

export async function readManifest(place: Place, id: string): Promise<Manifest> {
  const text = await readText(place, paths.manifest(id));
  if (text === null) {
    for await (const _ of place.list(`backups/${id}/`))
      throw new AdminError(
        `The backup ${id} in ${place.name} was interrupted and is not complete; choose another one.`,
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
  if (sha256 !== checkOf(manifest)) throw damaged;
  if (manifest.format > manifestFormat)
    throw new AdminError(`The backup ${id} was made by Muster ${manifest.version}; restore it with that version.`);
  return manifest;
}

export interface ListedBackup {
  id: string;
  manifest: Manifest | null;
  /** Why a manifest that is there cannot be read. */
  fault?: string;
}

/** All backups, the oldest first; those that were cut off have no manifest. */
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

/** The one that is asked for, or the newest whole one. */
export async function chooseBackup(place: Place, id?: string): Promise<Manifest> {
  if (id) return readManifest(place, id);
  const found = (await listBackups(place)).findLast(({ manifest, fault }) => manifest || fault);
  // An older one is only restored when it is asked for.
  if (found?.fault) throw new AdminError(found.fault);
  const newest = found?.manifest;
  if (!newest) throw new AdminError(`There is no complete backup in ${place.name}.`);
  return newest;
}

function checkOf(manifest: Manifest): string {
  return createHash('sha256').update(JSON.stringify(manifest)).digest('hex');
}
