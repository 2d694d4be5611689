import { focusManager } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

/** Whether the session has ended while a page is open. The page stays mounted but hidden until the next sign-in. */
let hasEnded = false;
const watchers = new Set<() => void>();

export function reportSessionEnd(): void {
  setHasEnded(true);
}

export function reportSignedIn(): void {
  setHasEnded(false);
}

export function useSessionEnded(): boolean {
  return useSyncExternalStore(subscribeToSessionEnd, () => hasEnded);
}

function subscribeToSessionEnd(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function setHasEnded(next: boolean): void {
  if (hasEnded === next) return;
  hasEnded = next;
  // Marks the window as unfocused for the query library while the user is signed out. Its queries then do not poll.
  focusManager.setFocused(next ? false : undefined);
  for (const watcher of watchers) watcher();
}
