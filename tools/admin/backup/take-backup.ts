import { Readable } from 'node:stream';
import { BaseConfig, type Environment, parseMasterKeys, listVariables } from '@muster/platform';
import { type ObjectStorage, StorageConfig } from '@muster/storage';
import type { Place } from '../place/place';
import { dumpDatabase } from './dump-database';
import { type Manifest, manifestFormatVersion, paths, writeManifest } from './manifest';
import { type BackupKeys, Repository } from './repository';
import { saveObjects } from './save-objects';

export interface BackupOptions {
  place: Place;
  keys: BackupKeys;
  databaseUrl: string;
  /** Storage whose objects are saved; null to leave the objects out of a backup that is only for the database. */
  storage: ObjectStorage | null;
  environment: Environment;
  /** Whether the settings include the master keys. */
  withKeys: boolean;
  version: string;
  jobs: number;
  now: Date;
  onProgress: (line: string) => void;
}

/**
 * Takes a backup of one consistent state: a snapshot of the database, the objects that its rows refer to, and the
 * settings that are not secret.
 */
export async function takeBackup(options: BackupOptions): Promise<Manifest> {
  const { place, storage, withKeys, version, now, onProgress } = options;
  const repository = await Repository.openOrCreate(place, options.keys);
  const id = createBackupId(now);
  const { objectKeys, ...database } = await dumpDatabase({ ...options, id, repository });
  const keys = storage ? objectKeys : [];
  const objects = await saveObjects({ id, repository, storage: storage!, keys, onProgress });
  const manifest: Manifest = {
    formatVersion: manifestFormatVersion,
    id,
    version,
    takenAt: now.toISOString(),
    ...database,
    objects,
    ...(await saveSettings(repository, id, { environment: options.environment, withKeys })),
  };
  await writeManifest(place, manifest);
  return manifest;
}

export function createBackupId(now: Date): string {
  return now.toISOString().replaceAll(':', '-').replace(/\..*$/, 'Z');
}

/** Saves the settings that are not secret, the master keys if they are requested, and `more` settings, encrypted. */
export async function saveSettings(
  repository: Repository,
  id: string,
  { environment, withKeys, more = {} }: { environment: Environment; withKeys: boolean; more?: Record<string, string> },
): Promise<Pick<Manifest, 'settings' | 'masterKeys' | 'masterKeyIds'>> {
  const masterKeys = environment['MASTER_KEYS'] ?? '';
  const settings = { ...selectPlainSettings(environment), ...(withKeys && { MASTER_KEYS: masterKeys }), ...more };
  const sealed = await repository.seal(Readable.from([Buffer.from(JSON.stringify(settings))], { objectMode: false }));
  return {
    settings: await repository.place.write(paths.settings(id), sealed),
    masterKeys: withKeys ? 'included' : 'left out',
    masterKeyIds: masterKeys ? parseMasterKeys(masterKeys).keys.map((key) => key.id) : [],
  };
}

/** Returns the settings that are set and not secret, among the variables that every app reads. */
function selectPlainSettings(environment: Environment): Record<string, string> {
  const open = [BaseConfig, StorageConfig].flatMap((type) =>
    listVariables(type).filter(({ options }) => !options.secret),
  );
  return Object.fromEntries(
    open.flatMap(({ name }) => (environment[name] === undefined ? [] : [[name, environment[name]]])),
  );
}
