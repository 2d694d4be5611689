import { useNavigate } from '@tanstack/react-router';
import { Tabs as Radix } from 'radix-ui';
import { type ReactNode, Suspense } from 'react';
import { Skeleton } from './page';
import { useUrlState } from './table/use-url-state';

interface Tab {
  name: string;
  /** In the address; its name, where nothing else is said. */
  id?: string;
  content: ReactNode;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  /** What the address says of it. */
  parameter?: 'tab' | 'part';
  /** Where there is room for it the strip stands beside what it shows: for more tabs than a line has. */
  beside?: boolean;
}

const looks = {
  above: {
    root: '',
    list: 'mb-4 flex gap-1 overflow-x-auto border-b border-line',
    trigger:
      '-mb-px border-b-2 border-transparent px-3 py-2 focus-visible:-outline-offset-2 aria-selected:border-accent hover:text-ink',
  },
  beside: {
    root: 'grid gap-4 md:grid-cols-[11rem_minmax(0,1fr)]',
    list: 'flex gap-0.5 overflow-x-auto md:flex-col',
    trigger:
      'rounded-control px-2.5 py-1.5 text-left hover:bg-sunken focus-visible:-outline-offset-2 aria-selected:bg-picked',
  },
};

/** Parts of one page, one of them shown at a time; which one is in the address, and back leads to the one before. */
export function Tabs({ label, tabs, parameter = 'tab', beside = false }: TabsProps) {
  const [state] = useUrlState();
  const navigate = useNavigate();
  const [first] = tabs;
  const shown = tabs.find((tab) => inAddress(tab) === state[parameter]) ?? first!;
  const show = (id: string) => {
    const tab = tabs.find(({ name }) => idOf(name) === id)!;
    // What a part shows is in the address too; another one begins without it.
    const search = tab === first ? {} : { [parameter]: inAddress(tab) };
    void navigate({ to: '.', search, resetScroll: false });
  };
  const look = looks[beside ? 'beside' : 'above'];
  return (
    <Radix.Root
      value={idOf(shown.name)}
      onValueChange={show}
      orientation={beside ? 'vertical' : 'horizontal'}
      activationMode="manual"
      className={look.root}
    >
      <Radix.List aria-label={label} className={look.list}>
        {tabs.map(({ name }) => (
          <Radix.Trigger
            key={name}
            value={idOf(name)}
            className={`shrink-0 text-dim aria-selected:font-medium aria-selected:text-ink ${look.trigger}`}
          >
            {name}
          </Radix.Trigger>
        ))}
      </Radix.List>
      <Radix.Content value={idOf(shown.name)} className="flex min-w-0 flex-col gap-4 outline-none">
        <Suspense fallback={<Skeleton rows={6} />}>{shown.content}</Suspense>
      </Radix.Content>
    </Radix.Root>
  );
}

function inAddress({ id, name }: Tab): string {
  return id ?? name;
}

/** What an id of the document may be made of. */
function idOf(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}
