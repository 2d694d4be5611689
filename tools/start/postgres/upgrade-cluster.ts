import { existsSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { listUnknownMigrations } from '@muster/database';
import { version } from '../../admin/version';
import { startDevStack } from '../../dev-stack/src/dev-stack';
import { StartError } from '../options';
import { saveBeforeUpgrade } from '../save-before-upgrade';
import { getClusterFolder, getOldClusterFolder, type PostgresUpgrade } from './find-upgrade';

export interface ClusterUpgrade {
  dataDir: string;
  upgrade: PostgresUpgrade;
  env: NodeJS.ProcessEnv;
  say: (line: string) => void;
}

/**
 * Moves the database to a newer major version of Postgres: backs it up with the older version and restores the backup
 * with the newer one, which compares every table. The files of the older version are removed only then; if anything
 * fails, they are used again.
 */
export async function upgradeCluster({ dataDir, upgrade, env, say }: ClusterUpgrade): Promise<void> {
  const { from, to } = upgrade;
  const start = (postgresMajor: number) =>
    startDevStack({ dataDir, durability: 'durable', parts: ['postgres'], env, postgresMajor, onProgress: say });
  const before = await start(from);
  const saved = await (async () => {
    try {
      // The start refuses data of a newer Muster.
      if ((await listUnknownMigrations(before.databaseUrl)).length > 0) return null;
      say(`the database was created by Postgres ${from}: backing it up to move it to Postgres ${to}`);
      return await saveBeforeUpgrade({ databaseUrl: before.databaseUrl, dataDir }, version);
    } finally {
      await before.stop();
    }
  })();
  if (!saved) return;
  const data = getClusterFolder(dataDir);
  const old = getOldClusterFolder(dataDir, upgrade);
  await rename(data, old);
  try {
    say(`backup ${saved.id} is complete; restoring it into Postgres ${to}`);
    const after = await start(to);
    try {
      await saved.restore(after.databaseUrl);
    } finally {
      await after.stop();
    }
  } catch (error) {
    if (existsSync(data)) await rm(data, { recursive: true });
    await rename(old, data);
    throw new StartError(
      `The database could not be moved to Postgres ${to} (${(error as Error).message.split('\n')[0]}); its files of Postgres ${from} are unchanged.`,
    );
  }
  await rm(old, { recursive: true });
  say(`the database was moved to Postgres ${to}`);
}
