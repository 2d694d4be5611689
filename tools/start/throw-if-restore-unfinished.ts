import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { listUnfinishedRestores } from '../admin/restore/list-unfinished-restores';
import { StartError } from './options';

/**
 * Throws if the folder has no data and a restore into it has not finished. Otherwise, an empty installation would start
 * in place of the restored one, and the restore could not be completed because its folder would not be empty.
 */
export async function throwIfRestoreUnfinished(dataDir: string): Promise<void> {
  if (existsSync(join(dataDir, 'secrets.json'))) return;
  const [folder] = await listUnfinishedRestores(dataDir);
  if (!folder) return;
  throw new StartError(
    `A restore into ${dataDir} has not finished: run the same muster-admin restore command again. To start with an empty installation instead, remove ${folder}.`,
  );
}
