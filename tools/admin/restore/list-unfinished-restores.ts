import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A restore works in a folder next to the data folder, which has its name, this text and a random suffix. */
const marker = '.restoring-';

export function getWorkFolder(dataDir: string, suffix: string): string {
  return `${dataDir}${marker}${suffix}`;
}

/** Returns the folders of restores into this data folder that are running or were killed. */
export async function listUnfinishedRestores(dataDir: string): Promise<string[]> {
  const names = await readdir(dirname(dataDir)).catch(() => []);
  return names
    .filter((name) => name.startsWith(`${basename(dataDir)}${marker}`))
    .map((name) => join(dirname(dataDir), name));
}
