import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findPreferredMajor } from '../../dev-stack/src/postgres';
import { readMajorVersion } from '../../dev-stack/src/postgres-cluster';

/** Major versions of Postgres: of the data, and of the server that the data moves to. */
export interface PostgresUpgrade {
  from: number;
  to: number;
}

export function getClusterFolder(dataDir: string): string {
  return join(dataDir, 'postgres/data');
}

/** Folder to which the files of the older version move until the upgrade is complete. */
export function getOldClusterFolder(dataDir: string, { from }: PostgresUpgrade): string {
  return `${getClusterFolder(dataDir)}-${from}`;
}

/**
 * Returns the upgrade that the data folder needs: its database was created by an older major version than the one that
 * this machine uses for new databases. Null if it needs none, or if its files are outside the folder.
 */
export async function findPostgresUpgrade(dataDir: string, env: NodeJS.ProcessEnv): Promise<PostgresUpgrade | null> {
  if (env['DATABASE_URL'] || existsSync(join(dataDir, 'postgres/kept-in'))) return null;
  await undoInterruptedUpgrade(dataDir);
  const from = await readMajorVersion(getClusterFolder(dataDir));
  if (!from) return null;
  const to = await findPreferredMajor(dataDir, env);
  return from < to ? { from, to } : null;
}

/** Returns to the files of the older version if an upgrade was killed. The service has not used the new ones. */
async function undoInterruptedUpgrade(dataDir: string): Promise<void> {
  const names = await readdir(join(dataDir, 'postgres')).catch(() => []);
  const old = names.find((name) => /^data-\d+$/.test(name));
  if (!old) return;
  await rm(getClusterFolder(dataDir), { recursive: true, force: true });
  await rename(join(dataDir, 'postgres', old), getClusterFolder(dataDir));
}
