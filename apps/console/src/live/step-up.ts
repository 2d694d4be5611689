import { useSyncExternalStore } from 'react';

/** Requests that the service rejected because they need the second factor, waiting for the user's proof. */
let waiting: ((proved: boolean) => void)[] = [];
const watchers = new Set<() => void>();

/** Asks the user for the second factor; resolves to whether it was proved. Concurrent requests share one dialog. */
export function askForProof(): Promise<boolean> {
  return new Promise((resolve) => change([...waiting, resolve]));
}

export function answerProof(proved: boolean): void {
  for (const resolve of waiting) resolve(proved);
  change([]);
}

export function useAskedForProof(): boolean {
  return useSyncExternalStore(watch, () => waiting.length > 0);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function change(next: typeof waiting): void {
  waiting = next;
  for (const watcher of watchers) watcher();
}
