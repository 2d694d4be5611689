import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { migrate, migrations, unknownMigrations } from '@muster/database';
import { version } from '../admin/version';
import { StartError } from './options';
import { saveBefore, type UpgradeData } from './save-before';

/**
 * Brings an older data folder to this version: backed up first, and restored where that fails. A newer one is refused.
 * Objects are left out of that backup, as migrations do not touch them.
 */
export async function upgradeData(asked: UpgradeData): Promise<string[]> {
  const { databaseUrl, dataDir, pending, say, run = migrate } = asked;
  await refuseNewer(asked);
  // A database without any is a new one.
  const isOlder = pending > 0 && pending < migrations.length;
  if (!asked.backup || !isOlder) {
    const migrated = await run(databaseUrl);
    await writeFile(versionFile(dataDir), `${version}\n`);
    return migrated;
  }
  say(
    `the data belongs to an older version (${pending} migrations): backing it up into ${join(dataDir, 'backups')} first`,
  );
  const { id, restore } = await saveBefore(asked, version);
  say(`backup ${id} is complete; upgrading the data to Muster ${version}`);
  try {
    const migrated = await run(databaseUrl);
    await writeFile(versionFile(dataDir), `${version}\n`);
    return migrated;
  } catch (error) {
    say('the upgrade failed: restoring the backup');
    await restore();
    throw new StartError(
      `The data could not be upgraded to Muster ${version} (${(error as Error).message.split('\n')[0]}); its earlier state was restored ` +
        `from the backup ${id}. Start the version that used it before.`,
    );
  }
}

async function refuseNewer({ databaseUrl, dataDir }: UpgradeData): Promise<void> {
  const unknown = await unknownMigrations(databaseUrl);
  if (unknown.length === 0) return;
  const newest = (await readFile(versionFile(dataDir), 'utf8').catch(() => '')).trim();
  throw new StartError(
    `The data in ${dataDir} belongs to a newer Muster than this one (${version}): it has the migration ${unknown.at(-1)}. ` +
      `Start ${newest && newest !== version ? `Muster ${newest}` : 'the version that created it'} or a newer one, or choose another folder with --data-dir.`,
  );
}

/** Which version used the data last. */
function versionFile(dataDir: string): string {
  return join(dataDir, 'version');
}
