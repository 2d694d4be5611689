import { type ReactNode, useState } from 'react';
import { ErrorNote } from './error-note';
import { Button } from './button';
import type { DialogProps } from './overlay/surfaces';
import { useSurfaces } from './overlay/use-surfaces';
import { useHoldTableRows } from './table/held-rows';

/** The dialog of the console. It has a name, closes with Escape and returns the focus to the element that had it. */
export function Dialog({ open, ...rest }: DialogProps) {
  const surfaces = useSurfaces(open, () => rest.onOpenChange(false));
  useHoldTableRows(open);
  return open && surfaces && <surfaces.DialogSurface {...rest} returnFocus={() => before?.focus()} />;
}

/** The element that had the focus before the dialog, or before the menu that opened it. */
let before: HTMLElement | undefined;
if (typeof document !== 'undefined') {
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && !target.closest('[role=dialog],[role=menu]')) before = target;
  });
}

export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap justify-end gap-2 pt-1">{children}</div>;
}

interface ConfirmProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  /** Label of the button, which names the action. */
  verb: string;
  /** Describes what the action affects and what cannot be undone. */
  children: ReactNode;
  act: () => Promise<unknown>;
}

/** Asks for confirmation of an action and describes its effect. Stays open with the error if the action fails. */
export function ConfirmDialog({ open, onOpenChange, title, verb, children, act }: ConfirmProps) {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const changeOpen = (next: boolean) => {
    setState({ busy: false });
    onOpenChange(next);
  };
  const confirmAndClose = async () => {
    setState({ busy: true });
    try {
      await act();
      changeOpen(false);
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return (
    <Dialog open={open} onOpenChange={changeOpen} title={title}>
      <div className="text-dim">{children}</div>
      {state.error !== undefined && <ErrorNote error={state.error} />}
      <DialogActions>
        <Button onClick={() => changeOpen(false)}>Go back</Button>
        <Button look="danger" busy={state.busy} onClick={() => void confirmAndClose()}>
          {verb}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
