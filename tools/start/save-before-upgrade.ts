import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { pruneBackups } from '../admin/backup/prune-backups';
import { Repository } from '../admin/backup/repository';
import { takeBackup } from '../admin/backup/take-backup';
import { FolderPlace } from '../admin/place/folder-place';
import { restoreDatabase } from '../admin/restore/restore-database';

export interface UpgradeData {
  databaseUrl: string;
  dataDir: string;
  /** Whether a database with rows is backed up before it is changed. */
  backup: boolean;
  /** Migrates the database to this version. */
  run?: (databaseUrl: string) => Promise<string[]>;
  /** Number of migrations that have not run. */
  pending: number;
  say: (line: string) => void;
}

const retainedBackups = 3;
const jobs = 2;

/**
 * Takes a backup into the data folder and returns a function that restores it, into the same database by default. The
 * key is stored in the folder, as the other keys are.
 */
export async function saveBeforeUpgrade(
  { databaseUrl, dataDir }: Pick<UpgradeData, 'databaseUrl' | 'dataDir'>,
  version: string,
): Promise<{ id: string; restore: (into?: string) => Promise<void> }> {
  const place = new FolderPlace(join(dataDir, 'backups'));
  const identity = await readOrCreateIdentity(join(dataDir, 'backup-identity.txt'));
  const keys = { recipients: [await identityToRecipient(identity)], identities: [identity] };
  const onProgress = () => undefined;
  const manifest = await takeBackup({
    place,
    keys,
    databaseUrl,
    storage: null,
    environment: {},
    withKeys: false,
    version,
    jobs,
    now: new Date(),
    onProgress,
  });
  await pruneBackups(place, { keep: { last: retainedBackups }, now: new Date() });
  return {
    id: manifest.id,
    restore: async (into = databaseUrl) => {
      const repository = await Repository.open(place, keys);
      await restoreDatabase({
        databaseUrl: into,
        repository,
        manifest,
        jobs,
        replace: true,
        upgrade: false,
        onProgress,
      });
    },
  };
}

/** Reads or creates the key of the backups, in the format of age-keygen, for `muster-admin restore --identity`. */
async function readOrCreateIdentity(file: string): Promise<string> {
  const stored = await readFile(file, 'utf8').catch(() => '');
  const found = stored.split('\n').find((line) => line.startsWith('AGE-SECRET-KEY-'));
  if (found) return found;
  const identity = await generateX25519Identity();
  await writeFile(file, `# decrypts the backups that npm start took before upgrades\n${identity}\n`, { mode: 0o600 });
  return identity;
}
