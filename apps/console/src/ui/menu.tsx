import { Ellipsis } from 'lucide-react';
import { DropdownMenu } from 'radix-ui';
import { type ReactNode, useState } from 'react';
import { IconButton } from './button';
import { useHoldTableRows } from './table/held-rows';

export interface Action {
  label: string;
  run: () => void;
  danger?: boolean;
  /** Reason for which the action is disabled, shown as its tooltip. */
  off?: string | false;
}

const surface = 'z-50 min-w-44 rounded-control border border-line bg-raised p-1 shadow-panel';
const item = `flex w-full items-center rounded px-2.5 py-1.5 outline-none select-none
  data-[highlighted]:bg-picked data-[disabled]:opacity-60`;

/** Menu with a row's actions; its button has the row's name in its label. */
export function ActionMenu({ name, actions }: { name: string; actions: (Action | false)[] }) {
  const offered = actions.filter((action) => action !== false);
  if (offered.length === 0) return null;
  return (
    <Menu
      trigger={
        <IconButton label={`Actions for ${name}`}>
          <Ellipsis aria-hidden className="size-4" />
        </IconButton>
      }
      actions={offered}
    />
  );
}

export function Menu({ trigger, actions, head }: { trigger: ReactNode; actions: Action[]; head?: ReactNode }) {
  const [isOpen, setOpen] = useState(false);
  useHoldTableRows(isOpen);
  return (
    <DropdownMenu.Root modal={false} open={isOpen} onOpenChange={setOpen}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align="end" sideOffset={4} className={surface}>
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
