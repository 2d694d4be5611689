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
  return useSyncExternalStore(subscribe, () => hasEnded);
}

function subscribe(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function setHasEnded(next: boolean): void {
  if (hasEnded === next) return;
  hasEnded = next;
  // Pauses polling while the user is signed out: queries do not poll in an unfocused window.
  focusManager.setFocused(next ? false : undefined);
  for (const watcher of watchers) watcher();
}
