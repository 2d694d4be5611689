import { useEffect, useEffectEvent, useSyncExternalStore } from 'react';
import { showToast } from '../toast';

type Surfaces = typeof import('./surfaces');

let loaded: Surfaces | undefined;
let loading: Promise<void> | undefined;
const watchers = new Set<() => void>();

/** Loads the surfaces of menus and dialogs before the first one opens. An error is reported when one is opened. */
export function preloadSurfaces(): void {
  loadSurfaces().catch(() => undefined);
}

/**
 * Returns the surfaces of menus and dialogs, which are not part of a page's first scripts. The first menu or dialog
 * that opens loads them, unless they were preloaded. React.lazy is not used, because it would show surfaces that arrive
 * within 300 ms only after this time, and would replace the page if they cannot be loaded. In this case, the user is
 * notified and `close` is called. Only a reload helps then, because the browser keeps the failure of a module.
 */
export function useSurfaces(isOpen: boolean, close: () => void): Surfaces | undefined {
  const surfaces = useSyncExternalStore(subscribeToSurfaces, () => loaded);
  const giveUp = useEffectEvent(() => {
    showToast('A part of this page could not be loaded. Check the connection, then reload the page.');
    close();
  });
  useEffect(() => {
    if (!isOpen || surfaces) return;
    let isCurrent = true;
    loadSurfaces().catch(() => isCurrent && giveUp());
    return () => void (isCurrent = false);
  }, [isOpen, surfaces]);
  return surfaces;
}

function loadSurfaces(): Promise<void> {
  loading ??= import('./surfaces').then((surfaces) => {
    loaded = surfaces;
    for (const watcher of watchers) watcher();
  });
  return loading;
}

function subscribeToSurfaces(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}
