import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs';
import { join, relative } from 'node:path';

const quietMs = 60;

/**
 * Reports changed files after a short time without further changes. Watches each folder separately: Node 20's recursive
 * watch follows files, and loses a file that an editor saves by renaming.
 */
export function watchSources(root: string, folders: string[], onChange: (files: string[]) => void): () => void {
  const watchers = new Map<string, FSWatcher>();
  let changed = new Set<string>();
  let timer: NodeJS.Timeout | undefined;

  const recordChange = (path: string) => {
    if (!isSourcePath(path)) return;
    changed.add(relative(root, path));
    clearTimeout(timer);
    timer = setTimeout(() => {
      const files = [...changed].sort();
      changed = new Set();
      onChange(files);
    }, quietMs);
  };
  const watchFolder = (folder: string, isNew: boolean) => {
    if (watchers.has(folder) || /(^|\/)(node_modules|dist|fixtures|\.[^/]*)$/.test(folder)) return;
    const watcher = watch(folder, (_event, name) => {
      if (name === null) return;
      const path = join(folder, name);
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) watchFolder(path, true);
      else recordChange(path);
    });
    // The folder was deleted.
    watcher.on('error', () => unwatchFolder(folder));
    watchers.set(folder, watcher);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) watchFolder(path, isNew);
      else if (isNew) recordChange(path);
    }
  };
  const unwatchFolder = (folder: string) => {
    watchers.get(folder)?.close();
    watchers.delete(folder);
  };

  for (const folder of folders) watchFolder(join(root, folder), false);
  return () => {
    clearTimeout(timer);
    for (const folder of [...watchers.keys()]) unwatchFolder(folder);
  };
}

/** Whether the build compiles or copies the file; see tools/build. */
function isSourcePath(path: string): boolean {
  return /\.(ts|sql|json|html|py)$/.test(path) && !/(\.spec\.ts|\.d\.ts|\/project\.json)$/.test(path);
}
