import { X } from 'lucide-react';
import { Dialog as Radix } from 'radix-ui';
import { type ReactNode, useRef, useState } from 'react';
import { removeDirectionMarks } from '../format/one-direction';
import { ErrorNote } from './error-note';
import { Button, IconButton } from './button';
import { useHoldTableRows } from './table/held-rows';

interface DialogProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  description?: ReactNode;
  wide?: boolean;
  /** Whether a click outside of the dialog is ignored, because the content of the dialog cannot be shown again. */
  keeps?: boolean;
  /** Hides the dialog without losing what was typed, while a screenshot of the page is taken. */
  hidden?: boolean;
  children: ReactNode;
}

const firstField = ['input:not([type=hidden])', 'select', 'textarea'].map((tag) => `form ${tag}:not(:disabled)`).join();

/** The dialog of the console. It has a name, closes with Escape and returns the focus to the element that had it. */
export function Dialog({ open, onOpenChange, title, description, wide, keeps, hidden, children }: DialogProps) {
  /** Whether the user has typed into the dialog; a click outside does not close it then. */
  const isWritten = useRef(false);
  useHoldTableRows(open);
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
          onOpenAutoFocus={(event) => {
            // The first field, and not the button that closes the dialog, so that typing can start at once.
            const field = event.target instanceof HTMLElement && event.target.querySelector<HTMLElement>(firstField);
            if (!field) return;
            event.preventDefault();
            field.focus();
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
            <Radix.Title className="text-base font-semibold">{removeDirectionMarks(title)}</Radix.Title>
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
