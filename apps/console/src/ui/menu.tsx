import { Ellipsis } from 'lucide-react';
import { type KeyboardEvent, type PointerEvent, type ReactNode, useId, useRef, useState } from 'react';
import { IconButton } from './button';
import type { Action } from './overlay/surfaces';
import { preloadSurfaces, useSurfaces } from './overlay/use-surfaces';
import { useHoldTableRows } from './table/held-rows';

/** Menu with a row's actions; its button has the row's name in its label. */
export function ActionMenu({ name, actions }: { name: string; actions: (Action | false)[] }) {
  const offered = actions.filter((action) => action !== false);
  if (offered.length === 0) return null;
  return <Menu label={`Actions for ${name}`} icon={<Ellipsis aria-hidden className="size-4" />} actions={offered} />;
}

interface MenuProps {
  /** Accessible name of the button that opens the menu. */
  label: string;
  icon: ReactNode;
  actions: Action[];
  head?: ReactNode;
}

/** A button that opens a menu. It opens as soon as the surface of menus is loaded, even if it was pressed before. */
export function Menu({ label, icon, actions, head }: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const [openedBy, setOpenedBy] = useState<'key' | 'pointer'>();
  const trigger = useRef<HTMLButtonElement>(null);
  const id = useId();
  const surfaces = useSurfaces(isOpen, () => setOpen(false));
  useHoldTableRows(isOpen);
  const toggleMenu = (by: 'key' | 'pointer') => {
    setOpenedBy(by);
    setOpen(!isOpen);
  };
  // As in Radix, pressing the pointer opens the menu before it is released, so that one gesture can choose an action.
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || event.ctrlKey) return;
    // The button must not take the focus from the menu.
    if (!isOpen) event.preventDefault();
    toggleMenu('pointer');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!['Enter', ' ', 'ArrowDown'].includes(event.key)) return;
    event.preventDefault();
    if (event.key !== 'ArrowDown' || !isOpen) toggleMenu('key');
  };
  return (
    <>
      <IconButton
        ref={trigger}
        id={`${id}-trigger`}
        label={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen && surfaces ? id : undefined}
        onPointerEnter={preloadSurfaces}
        onFocus={preloadSurfaces}
        onPointerDown={onPointerDown}
        onKeyDown={onKeyDown}
      >
        {icon}
      </IconButton>
      {surfaces && openedBy && (
        <surfaces.MenuSurface
          id={id}
          isOpen={isOpen}
          onOpenChange={setOpen}
          trigger={trigger}
          isOpenedByKey={openedBy === 'key'}
          head={head}
          actions={actions}
        />
      )}
    </>
  );
}
