import { useSyncExternalStore } from 'react';

/**
 * Whether the service can be reached, as reported by all requests and streams of this tab. While it is offline, the
 * health endpoint is polled; when that succeeds, the callbacks of `onReconnect` are called.
 */
type State = 'online' | 'offline';

let state: State = 'online';
let timer: ReturnType<typeof setTimeout> | undefined;
let waitMs = 1000;
const watchers = new Set<() => void>();
const returned = new Set<() => void>();

export function reportUnreachable(): void {
  if (state === 'offline') return;
  setConnectionState('offline');
  waitMs = 1000;
  timer = setTimeout(() => void probeService(), waitMs);
}

export function reportReachable(): void {
  if (state === 'online') return;
  clearTimeout(timer);
  setConnectionState('online');
  for (const catchUp of returned) catchUp();
}

/** Registers a callback for each time that the service can be reached again; returns a function that removes it. */
export function onReconnect(catchUp: () => void): () => void {
  returned.add(catchUp);
  return () => void returned.delete(catchUp);
}

export function useConnection(): State {
  return useSyncExternalStore(subscribeToConnection, () => state);
}

function subscribeToConnection(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}

function setConnectionState(next: State): void {
  state = next;
  for (const watcher of watchers) watcher();
}

async function probeService(): Promise<void> {
  try {
    const answer = await fetch('/api/health', { cache: 'no-store', signal: AbortSignal.timeout(5000) });
    if (answer.ok) return reportReachable();
  } catch {
    // The service is still unreachable. The timer below tries again.
  }
  waitMs = Math.min(waitMs * 2, 15_000);
  timer = setTimeout(() => void probeService(), waitMs);
}

if (typeof window !== 'undefined') {
  window.addEventListener('offline', reportUnreachable);
  window.addEventListener('online', () => state === 'offline' && void probeService());
}
