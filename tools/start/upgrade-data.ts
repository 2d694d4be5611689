import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrateDatabase, migrations, listUnknownMigrations } from '@muster/database';
import { version } from '../admin/version';
import { StartError } from './options';
import { saveBeforeUpgrade, type UpgradeData } from './save-before-upgrade';

/**
 * Migrates an older data folder to this version. It is backed up first, and restored if the migration fails. A newer
 * folder is refused. The backup has no objects, because migrations do not change them.
 */
export async function upgradeData(options: UpgradeData): Promise<string[]> {
  const { databaseUrl, dataDir, pending, say, run = migrateDatabase } = options;
  await throwIfDataIsNewer(options);
  // A database without any migration is new.
  const isOlder = pending > 0 && pending < migrations.length;
  if (!options.backup || !isOlder) {
    const migrated = await run(databaseUrl);
    await writeFile(getVersionFilePath(dataDir), `${version}\n`);
    return migrated;
  }
  say(`the data is of an older version (${pending} migrations): backing it up into ${join(dataDir, 'backups')} first`);
  const { id, restore } = await saveBeforeUpgrade(options, version);
  say(`backup ${id} is complete; migrating the data to Muster ${version}`);
  try {
    const migrated = await run(databaseUrl);
    await writeFile(getVersionFilePath(dataDir), `${version}\n`);
    return migrated;
  } catch (error) {
    say('the migration failed: restoring the backup');
    await restore();
    throw new StartError(
      `The data could not be migrated to Muster ${version} (${(error as Error).message.split('\n')[0]}); it was restored ` +
        `from the backup ${id}. Start the version that used it before.`,
    );
  }
}

async function throwIfDataIsNewer({ databaseUrl, dataDir }: UpgradeData): Promise<void> {
  const unknown = await listUnknownMigrations(databaseUrl);
  if (unknown.length === 0) return;
  const newest = (await readFile(getVersionFilePath(dataDir), 'utf8').catch(() => '')).trim();
  throw new StartError(
    `The data in ${dataDir} belongs to a newer version than this one (${version}): it has the migration ${unknown.at(-1)}. ` +
      `Start ${newest && newest !== version ? `Muster ${newest}` : 'the version that created it'} or a newer one, or choose another folder with --data-dir.`,
  );
}

/** File with the version that used the data last. */
function getVersionFilePath(dataDir: string): string {
  return join(dataDir, 'version');
}
