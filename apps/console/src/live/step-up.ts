import { useSyncExternalStore } from 'react';

/** Requests that the service rejected because they need the second factor, waiting for the user's proof. */
let waiting: ((proved: boolean) => void)[] = [];
const watchers = new Set<() => void>();

/** Asks the user for the second factor; resolves to whether it was proved. Concurrent requests share one dialog. */
export function requestProof(): Promise<boolean> {
  return new Promise((resolve) => setWaiting([...waiting, resolve]));
}

export function finishProofRequest(proved: boolean): void {
  for (const resolve of waiting) resolve(proved);
  setWaiting([]);
}

export function useIsProofRequested(): boolean {
  return useSyncExternalStore(subscribeToProofRequests, () => waiting.length > 0);
}

function subscribeToProofRequests(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function setWaiting(next: typeof waiting): void {
  waiting = next;
  for (const watcher of watchers) watcher();
}
