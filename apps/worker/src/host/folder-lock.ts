import { join } from 'node:path';
import { readJson, writeAtomically } from './files';
import { isAlive, readProcess } from '../runs/processes';

/** Locks the folder for this worker. Two workers in one folder would each take over the runs of the other. */
export function lockFolder(folder: string): void {
  const path = join(folder, 'worker.lock');
  const holder = readJson<{ pid: number; startTime: string }>(path);
  if (holder && holder.pid !== process.pid && isAlive(holder)) {
    throw new Error(
      `another worker (pid ${holder.pid}) is using ${folder}; stop it, or set MUSTER_WORKER_DIR to another folder`,
    );
  }
  writeAtomically(path, JSON.stringify({ pid: process.pid, startTime: readProcess(process.pid)?.startTime ?? '' }));
}
