import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Environment } from '@muster/platform';
import { waitForEndOf } from '../../dev-stack/src/folder-lock';
import type { StoredSecrets } from '../../start/stored-secrets';
import { AdminError } from '../admin-error';
import { chooseBackup, chooseBackupForTime, type Manifest, paths, readSavedUntil } from '../backup/manifest';
import { type BackupKeys, Repository } from '../backup/repository';
import { readTextLines } from '../backup/save-objects';
import { verifyBackup } from '../backup/verify-backup';
import { isContinuous } from '../continuous/read-log';
import { finishContinuousRestore, writeServerFiles } from '../continuous/restore-continuous';
import { buildLocalS3Environment, openInstallation, startParts, createStorage } from '../installation';
import type { Place } from '../place/place';
import { requireKnownMigrations, restoreDatabase } from './restore-database';
import { restoreObjects } from './restore-objects';
import { listUnfinishedRestores, getWorkFolder } from './list-unfinished-restores';
import { requireEmptyDatabase } from './temporary-database';

export interface RestoreOptions {
  place: Place;
  keys: BackupKeys;
  /** Id of the backup; by default the newest complete one. */
  backup?: string;
  /** Time to which a continuous backup is restored; by default its newest state. */
  toTime?: Date;
  /**
   * A data folder for `npm start`. Without it, the target is the database and the bucket that the environment
   * specifies.
   */
  dataDir?: string;
  environment: Environment;
  jobs: number;
  onProgress: (line: string) => void;
}

/**
 * Verifies the whole backup before it changes anything, restores it into an empty target, and compares the target with
 * the backup.
 */
export async function restoreBackup(options: RestoreOptions): Promise<Manifest> {
  const { place, keys, dataDir, toTime, onProgress } = options;
  const repository = await Repository.open(place, keys);
  const manifest = await (toTime && !options.backup
    ? chooseBackupForTime(place, toTime)
    : chooseBackup(place, options.backup));
  requireKnownMigrations(manifest);
  if (isContinuous(manifest) || toTime) await requireContinuousTarget(options, manifest);
  if (dataDir) {
    await requireNoFolder(resolve(dataDir));
    await verifyBackup(repository, manifest, onProgress);
    await restoreToFolder(resolve(dataDir), { ...options, repository, manifest });
    return manifest;
  }
  const installation = await openInstallation(undefined, options.environment);
  try {
    await requireEmptyDatabase(installation.databaseUrl);
    await verifyBackup(repository, manifest, onProgress);
    await restoreInto(installation, { ...options, repository, manifest });
  } finally {
    await installation.close();
  }
  return manifest;
}

/** Throws unless the backup is continuous, reaches the time, and is restored into a data folder. */
async function requireContinuousTarget({ place, dataDir, toTime }: RestoreOptions, manifest: Manifest): Promise<void> {
  if (!isContinuous(manifest))
    throw new AdminError(`The backup ${manifest.id} is not continuous, so it cannot be restored to a time.`);
  if (!dataDir)
    throw new AdminError(
      `The backup ${manifest.id} is continuous: it has the files of the database server and is restored into a data folder (--data-dir).`,
    );
  const until = await readSavedUntil(place, manifest);
  if (toTime && (toTime < new Date(manifest.takenAt) || toTime > until))
    throw new AdminError(
      `The backup ${manifest.id} can be restored to a time from ${manifest.takenAt} to ${until.toISOString()}.`,
    );
}

interface Opened extends RestoreOptions {
  repository: Repository;
  manifest: Manifest;
}

async function restoreInto(
  { databaseUrl, storage }: Pick<Awaited<ReturnType<typeof openInstallation>>, 'databaseUrl' | 'storage'>,
  { repository, manifest, jobs, onProgress }: Opened,
): Promise<void> {
  // Objects are restored first, because the rows can be read as soon as the database has its final name.
  await restoreObjects({ repository, manifest, storage, onProgress });
  await restoreDatabase({ databaseUrl, repository, manifest, jobs, onProgress });
}

/** Restores into a temporary folder, which gets the name of the target at the end. */
async function restoreToFolder(dataDir: string, options: Opened): Promise<void> {
  const settings = await readSettings(options.repository, options.manifest);
  await removeLeftovers(dataDir);
  const work = getWorkFolder(dataDir, randomBytes(4).toString('hex'));
  await mkdir(work, { recursive: true, mode: 0o700 });
  const secrets: StoredSecrets = {
    // A backup without the master keys must not become usable without them.
    ...(settings['MASTER_KEYS'] ? { masterKeys: settings['MASTER_KEYS'] } : {}),
    cronSecret: randomBytes(24).toString('base64url'),
    s3AccessKeyId: 'muster',
    s3SecretAccessKey: randomBytes(24).toString('base64url'),
  };
  const { manifest, repository, onProgress } = options;
  const toTime = options.toTime ?? null;
  try {
    if (isContinuous(manifest)) {
      await mkdir(join(work, 'postgres'), { recursive: true, mode: 0o700 });
      await writeFile(join(work, 'postgres/password'), `${settings['POSTGRES_PASSWORD']}\n`, { mode: 0o600 });
      await writeServerFiles(join(work, 'postgres/data'), { repository, manifest, toTime, onProgress });
    }
    const parts = await startParts(work, secrets);
    const storage = createStorage(buildLocalS3Environment(parts.endpoint, secrets));
    try {
      const target = { databaseUrl: parts.databaseUrl, storage };
      if (isContinuous(manifest)) {
        const restoredTo = toTime ?? (await readSavedUntil(options.place, manifest));
        await finishContinuousRestore(target, { repository, manifest, toTime, restoredTo, onProgress });
      } else await restoreInto(target, options);
    } finally {
      await storage.onApplicationShutdown();
      await parts.stop();
    }
    await writeFile(join(work, 'secrets.json'), `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 });
    await rm(dataDir, { recursive: true, force: true });
    await rename(work, dataDir);
  } catch (error) {
    await removeFolder(work);
    throw error;
  }
}

async function requireNoFolder(dataDir: string): Promise<void> {
  const files = await readdir(dataDir).catch(() => []);
  if (files.length > 0)
    throw new AdminError(
      `The folder ${dataDir} is not empty; restore into a folder that is empty or does not exist. Nothing was changed.`,
    );
}

/** Removes the temporary folders of killed restores. */
async function removeLeftovers(dataDir: string): Promise<void> {
  for (const folder of await listUnfinishedRestores(dataDir)) {
    if ((await waitForEndOf(folder)) !== 'held') await removeFolder(folder);
  }
}

/** Removes the folder, and the database's files if they are outside it. */
async function removeFolder(folder: string): Promise<void> {
  const outside = (await readFile(join(folder, 'postgres/kept-in'), 'utf8').catch(() => '')).trim();
  if (outside) await rm(outside, { recursive: true, force: true });
  await chmod(folder, 0o700).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
}

async function readSettings(repository: Repository, { id }: Manifest): Promise<Record<string, string>> {
  const sealed = await repository.place.read(paths.settings(id));
  if (!sealed) throw new AdminError(`The file ${paths.settings(id)} is missing in ${repository.place.name}.`);
  const [text] = await readTextLines(await repository.unseal(sealed, paths.settings(id)));
  return JSON.parse(text!) as Record<string, string>;
}
