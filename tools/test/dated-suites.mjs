import { existsSync } from 'node:fs';
import { join } from 'node:path';

const libs = ['access', 'alerts', 'assistant', 'commands', 'feedback', 'jobs', 'machines', 'packs', 'pilot', 'pricing'];

/** Folders of the tests that run in one process and depend on the date. */
export const datedSuites = [
  ...[...libs, 'schedules', 'timeline', 'webhooks'].map((name) => `libs/${name}/`),
  ...['feedback-sync', 'gateway', 'ingest', 'metering', 'scheduler'].map((name) => `apps/${name}/`),
];

/**
 * Returns the folders that do not exist. Jest ignores such a folder, so its tests would no longer run.
 * @param {string} root
 * @param {string[]} folders
 */
export function findMissingFolders(root, folders = datedSuites) {
  return folders.filter((folder) => !existsSync(join(root, folder)));
}
