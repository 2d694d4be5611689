import { useSyncExternalStore } from 'react';

const narrow = matchMedia('(max-width: 639px)');

/** Whether the window is as narrow as a phone's; tables then show cards instead of columns. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribeToWidth, () => narrow.matches);
}

function subscribeToWidth(changed: () => void): () => void {
  narrow.addEventListener('change', changed);
  return () => narrow.removeEventListener('change', changed);
}
