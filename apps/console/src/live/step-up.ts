import { useSyncExternalStore } from 'react';

/** Requests that wait for a code of the second factor; the service has refused them until then. */
let waiting: ((proved: boolean) => void)[] = [];
const watchers = new Set<() => void>();

/** Asks whoever sits here for a code; answers whether it was right. Several requests ask once. */
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
