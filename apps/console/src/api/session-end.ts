import { focusManager } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

/** Whether the session has ended while its page stands: the page stays, out of sight, until somebody has signed in. */
let hasEnded = false;
const watchers = new Set<() => void>();

export function reportSessionEnd(): void {
  change(true);
}

export function reportSignedIn(): void {
  change(false);
}

export function useSessionEnded(): boolean {
  return useSyncExternalStore(watch, () => hasEnded);
}

function watch(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function change(next: boolean): void {
  if (hasEnded === next) return;
  hasEnded = next;
  // What is asked for again and again is not asked for while nobody is signed in.
  focusManager.setFocused(next ? false : undefined);
  for (const watcher of watchers) watcher();
}
