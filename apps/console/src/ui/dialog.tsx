import { X } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import { type ReactNode, useRef, useState } from 'react';
import { oneDirection } from '../format/one-direction';
import { ErrorNote } from './error-note';
import { Button, IconButton } from './button';
import { useHoldRows } from './table/held-rows';

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  wide?: boolean;
  /** What it shows cannot be had again: a press beside it does not close it. */
  keeps?: boolean;
  /** Out of sight with all that was typed, for as long as a picture of the page is taken. */
  hidden?: boolean;
  children: ReactNode;
}

/** The one dialog: named, closed by Escape, gives focus back to where it was. */
export function Dialog({ open, onOpenChange, title, description, wide, keeps, hidden, children }: DialogProps) {
  /** Nor does it where something is written in it. */
  const isWritten = useRef(false);
  useHoldRows(open);
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className={`fixed inset-0 z-40 bg-black/50 ${hidden ? 'invisible' : ''}`} />
        <Radix.Content
          {...(description ? {} : { 'aria-describedby': undefined })}
          onInput={({ target }) => {
            if (target instanceof HTMLElement && target.closest('form')) isWritten.current = true;
          }}
          onPointerDownOutside={(event) => {
            if (keeps || isWritten.current) event.preventDefault();
          }}
          onCloseAutoFocus={(event) => {
            isWritten.current = false;
            event.preventDefault();
            before?.focus();
          }}
          className={`fixed inset-x-0 bottom-0 z-50 mx-auto flex max-h-[92dvh] w-full flex-col gap-4 overflow-y-auto
            rounded-t-panel border border-line bg-raised p-5 shadow-panel sm:inset-y-0 sm:my-auto sm:h-fit
            sm:rounded-panel ${wide ? 'sm:max-w-3xl' : 'sm:max-w-md'} ${hidden ? 'invisible' : ''}`}
        >
          <div className="flex items-start justify-between gap-3">
            <Radix.Title className="text-base font-semibold">{oneDirection(title)}</Radix.Title>
            <Radix.Close asChild>
              <IconButton label="Close" className="-mt-1 -mr-1">
                <X aria-hidden className="size-4" />
              </IconButton>
            </Radix.Close>
          </div>
          {description && <Radix.Description className="text-dim">{description}</Radix.Description>}
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

/** What had the focus before a dialog came, or the menu that it was asked for in. */
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
  /** The button's word, which is the deed. */
  verb: string;
  /** What will be hit. */
  children: ReactNode;
  act: () => Promise<unknown>;
}

/** Asks before something that cannot be taken back, names what it hits, and stays open with the fault if it fails. */
export function ConfirmDialog({ open, onOpenChange, title, verb, children, act }: ConfirmProps) {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const change = (next: boolean) => {
    setState({ busy: false });
    onOpenChange(next);
  };
  const go = async () => {
    setState({ busy: true });
    try {
      await act();
      change(false);
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return (
    <Dialog open={open} onOpenChange={change} title={title}>
      <div className="text-dim">{children}</div>
      {state.error !== undefined && <ErrorNote error={state.error} />}
      <DialogActions>
        <Button onClick={() => change(false)}>Keep it</Button>
        <Button look="danger" busy={state.busy} onClick={() => void go()}>
          {verb}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
