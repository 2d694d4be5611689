import { useSyncExternalStore } from 'react';

const narrow = matchMedia('(max-width: 639px)');

/** A window as narrow as a phone's: rows of a table are cards there. */
export function useNarrow(): boolean {
  return useSyncExternalStore(watch, () => narrow.matches);
}

function watch(changed: () => void): () => void {
  narrow.addEventListener('change', changed);
  return () => narrow.removeEventListener('change', changed);
}
