import { useSyncExternalStore } from 'react';

export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const key = 'muster-theme';
const watchers = new Set<() => void>();

/** Saves the user's choice in this browser; `system` removes the entry. */
export function setTheme(theme: Theme): void {
  try {
    if (theme === 'system') localStorage.removeItem(key);
    else localStorage.setItem(key, theme);
  } catch {
    // Without local storage the choice is in effect until the tab is closed.
  }
  applyTheme(theme);
  for (const watcher of watchers) watcher();
}

export function showSavedTheme(): void {
  applyTheme(readSavedTheme());
}

export function useTheme(): Theme {
  return useSyncExternalStore((watcher) => {
    watchers.add(watcher);
    return () => void watchers.delete(watcher);
  }, readDisplayedTheme);
}

const dark = typeof window === 'undefined' ? undefined : window.matchMedia('(prefers-color-scheme: dark)');

/** The theme that is displayed, the user's or the system's, for components that draw with their own colors. */
export function useDisplayedTheme(): 'light' | 'dark' {
  const theme = useTheme();
  const isDark = useSyncExternalStore(
    (watcher) => {
      dark?.addEventListener('change', watcher);
      return () => dark?.removeEventListener('change', watcher);
    },
    () => dark?.matches ?? false,
  );
  if (theme !== 'system') return theme;
  return isDark ? 'dark' : 'light';
}

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

function readDisplayedTheme(): Theme {
  return themes.find((theme) => theme === document.documentElement.dataset['theme']) ?? 'system';
}

function readSavedTheme(): Theme {
  try {
    return themes.find((theme) => theme === localStorage.getItem(key)) ?? 'system';
  } catch {
    return 'system';
  }
}
