import { existsSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isUuid } from '@muster/platform';
import { AgentFolder } from './agent-folder';
import { FolderLock } from './folder-lock';
import { endProcessTree } from './processes';

/** Ends the workers that a service left running when it ended. Their desired states stay unchanged. */
export async function endWorkers(root: string): Promise<void> {
  const lock = new FolderLock(root);
  if (!existsSync(root) || !(await lock.tryAcquire())) return;
  try {
    const ids = (await readdir(root)).filter(isUuid);
    await Promise.all(
      ids.map(async (id) => {
        const folder = new AgentFolder(root, id);
        const record = await folder.readWorkerRecord();
        if (!record) return;
        await endProcessTree({ folder: folder.path, root: record, account: folder.readAccount() }, { graceMs: 2000 });
        await rm(join(folder.path, 'worker.json'), { force: true });
      }),
    );
  } finally {
    await lock.release();
  }
}
