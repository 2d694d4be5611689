import { X } from 'lucide-react';
import { Dialog, DropdownMenu } from 'radix-ui';
import { type ReactNode, type RefObject, useEffect, useImperativeHandle, useRef } from 'react';
import { removeDirectionMarks } from '../../format/one-direction';
import { IconButton } from '../button';

// Radix and its positioning are larger than most pages, so this module is loaded after the page. See use-surfaces.ts.

export interface Action {
  label: string;
  run: () => void;
  danger?: boolean;
  /** Reason for which the action is disabled, shown as its tooltip. */
  off?: string | false;
}

interface MenuSurfaceProps {
  id: string;
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
  trigger: RefObject<HTMLButtonElement | null>;
  /** Whether a key opened the menu, so that its first action gets the focus. */
  isOpenedByKey: boolean;
  head?: ReactNode;
  actions: Action[];
}

const surface = 'z-50 min-w-44 rounded-control border border-line bg-raised p-1 shadow-panel';
const item = `flex w-full items-center rounded px-2.5 py-1.5 outline-none select-none
  data-[highlighted]:bg-picked data-[disabled]:opacity-60`;

export function MenuSurface({ id, isOpen, onOpenChange, trigger, isOpenedByKey, head, actions }: MenuSurfaceProps) {
  return (
    <DropdownMenu.Root modal={false} open={isOpen} onOpenChange={onOpenChange}>
      <DropdownMenu.Trigger asChild>
        <TriggerOnPage trigger={trigger} />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content id={id} aria-labelledby={`${id}-trigger`} align="end" sideOffset={4} className={surface}>
          {isOpenedByKey && <FocusOnFirstAction />}
          {head}
          {actions.map(({ label, run, danger, off }) => (
            <DropdownMenu.Item
              key={label}
              disabled={Boolean(off)}
              title={off || undefined}
              onSelect={run}
              className={`${item} ${danger ? 'text-bad' : ''}`}
            >
              {label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/**
 * Makes a button that is already on the page the trigger of Radix, which positions the menu at it and returns the focus
 * to it. A button of Radix would replace the one on the page, which would lose the focus and the click in progress.
 */
function TriggerOnPage({ trigger, ref }: Pick<MenuSurfaceProps, 'trigger'> & { ref?: RefObject<HTMLButtonElement> }) {
  useImperativeHandle(ref, () => trigger.current!, [trigger]);
  return null;
}

/** Radix focuses the first action only if it was loaded before the key was pressed. */
function FocusOnFirstAction() {
  const mark = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const menu = mark.current?.closest('[role=menu]');
    menu?.querySelector<HTMLElement>('[role=menuitem]:not([data-disabled])')?.focus({ preventScroll: true });
  }, []);
  return <span ref={mark} hidden />;
}

const firstField = ['input:not([type=hidden])', 'select', 'textarea'].map((tag) => `form ${tag}:not(:disabled)`).join();

export interface DialogProps {
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

interface DialogSurfaceProps extends Omit<DialogProps, 'open'> {
  /** Returns the focus to the element that had it before the dialog. */
  returnFocus: () => void;
}

export function DialogSurface(props: DialogSurfaceProps) {
  const { onOpenChange, title, description, wide, keeps, hidden, children, returnFocus } = props;
  /** Whether the user has typed into the dialog; a click outside does not close it then. */
  const isWritten = useRef(false);
  return (
    <Dialog.Root open onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Overlay className={`fixed inset-0 z-40 bg-black/50 ${hidden ? 'invisible' : ''}`} />
        <Dialog.Content
          {...(description ? {} : { 'aria-describedby': undefined })}
          onInput={({ target }) => {
            if (target instanceof HTMLElement && target.closest('form')) isWritten.current = true;
          }}
          onPointerDownOutside={(event) => {
            if (keeps || isWritten.current) event.preventDefault();
          }}
          onOpenAutoFocus={(event) => {
            // Focuses the first field instead of the button that closes the dialog, so that typing can start at once.
            const field = event.target instanceof HTMLElement && event.target.querySelector<HTMLElement>(firstField);
            if (!field) return;
            event.preventDefault();
            field.focus();
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            returnFocus();
          }}
          className={`fixed inset-x-0 bottom-0 z-50 mx-auto flex max-h-[92dvh] w-full flex-col gap-4 overflow-y-auto
            rounded-t-panel border border-line bg-raised p-5 shadow-panel sm:inset-y-0 sm:my-auto sm:h-fit
            sm:rounded-panel ${wide ? 'sm:max-w-3xl' : 'sm:max-w-md'} ${hidden ? 'invisible' : ''}`}
        >
          <div className="flex items-start justify-between gap-3">
            <Dialog.Title className="min-w-0 text-base font-semibold [overflow-wrap:anywhere]">
              {removeDirectionMarks(title)}
            </Dialog.Title>
            <Dialog.Close asChild>
              <IconButton label="Close" className="-mt-1 -mr-1">
                <X aria-hidden className="size-4" />
              </IconButton>
            </Dialog.Close>
          </div>
          {description && <Dialog.Description className="text-dim">{description}</Dialog.Description>}
          {children}
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** Covers the whole page, which stays mounted below. Nothing closes it but its content. */
export function CoverSurface({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Dialog.Root open>
      <Dialog.Portal>
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed inset-0 z-[60] flex items-center justify-center bg-page p-4"
        >
          <div className="flex w-full max-w-sm flex-col gap-4 rounded-panel border border-line bg-surface p-6">
            <Dialog.Title className="text-base font-semibold">{title}</Dialog.Title>
            {children}
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
