import { join } from 'node:path';
import { readJson, writeWhole } from './files';
import { isAlive, readProcess } from '../runs/processes';

/** Two workers on one folder would each believe that the other's runs are theirs. */
export function takeFolder(folder: string): void {
  const path = join(folder, 'worker.lock');
  const holder = readJson<{ pid: number; startTime: string }>(path);
  if (holder && holder.pid !== process.pid && isAlive(holder)) {
    throw new Error(
      `another worker (pid ${holder.pid}) is using ${folder}; stop it, or set MUSTER_WORKER_DIR to another folder`,
    );
  }
  writeWhole(path, JSON.stringify({ pid: process.pid, startTime: readProcess(process.pid)?.startTime ?? '' }));
}
