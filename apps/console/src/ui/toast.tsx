import { X } from 'lucide-react';
import { useSyncExternalStore } from 'react';
import { isApiError } from '../api/api-error';
import { removeDirectionMarks } from '../format/one-direction';
import { Button, IconButton } from './button';

interface Toast {
  id: number;
  text: string;
  undo?: () => void;
}

const staysMs = 8000;
let toasts: readonly Toast[] = [];
let count = 0;
const watchers = new Set<() => void>();

/** Shows a message for 8 seconds, with an Undo button if `undo` is passed. */
export function showToast(text: string, undo?: () => void): void {
  const id = (count += 1);
  setToasts([...toasts.slice(-3), { id, text, undo }]);
  setTimeout(() => dismissToast(id), staysMs);
}

/** Shows the error of an action that has no form. */
export function showErrorToast(error: unknown, name?: string): void {
  const which = name ? `${name}: ` : '';
  showToast(
    isApiError(error) ? `${which}${error.message} (${error.code})` : `${which}Something went wrong. Try again.`,
  );
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribeToToasts, () => toasts);
  return (
    <div
      role="status"
      className="pointer-events-none fixed inset-x-3 bottom-3 z-[60] flex flex-col items-end gap-2 sm:left-auto"
    >
      {shown.map(({ id, text, undo }) => (
        <div
          key={id}
          className="pointer-events-auto flex max-w-md items-center gap-2 rounded-control border border-line bg-raised py-1.5 pr-1.5 pl-3 shadow-panel"
        >
          <span>{removeDirectionMarks(text)}</span>
          {undo && (
            <Button
              look="quiet"
              onClick={() => {
                dismissToast(id);
                undo();
              }}
            >
              Undo
            </Button>
          )}
          <IconButton label="Dismiss" onClick={() => dismissToast(id)}>
            <X aria-hidden className="size-4" />
          </IconButton>
        </div>
      ))}
    </div>
  );
}

function dismissToast(id: number): void {
  setToasts(toasts.filter((each) => each.id !== id));
}

function setToasts(next: readonly Toast[]): void {
  toasts = next;
  for (const watcher of watchers) watcher();
}

function subscribeToToasts(watcher: () => void): () => void {
  watchers.add(watcher);
  return () => void watchers.delete(watcher);
}
