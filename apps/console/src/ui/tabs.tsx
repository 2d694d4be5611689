import { useNavigate } from '@tanstack/react-router';
import { Tabs as Radix } from 'radix-ui';
import { type ReactNode, Suspense } from 'react';
import { Skeleton } from './page';
import { useUrlState } from './table/use-url-state';
import { useVisibleCurrent } from './use-visible-current';

interface Tab {
  name: string;
  /** Value in the address; by default the name. */
  id?: string;
  content: ReactNode;
}

interface TabsProps {
  label: string;
  tabs: readonly Tab[];
  /** Name of the parameter in the address. */
  parameter?: 'tab' | 'part';
  /** Shows the tabs to the left of the content if the window is wide enough; for many tabs. */
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

/** Tabs of a page. The selected one is in the address, so the browser's back button returns to the previous one. */
export function Tabs({ label, tabs, parameter = 'tab', beside = false }: TabsProps) {
  const [state] = useUrlState();
  const navigate = useNavigate();
  const [first] = tabs;
  const shown = tabs.find((tab) => toAddressName(tab) === state[parameter]) ?? first!;
  const showTab = (id: string) => {
    const tab = tabs.find(({ name }) => buildTabId(name) === id)!;
    // Removes all other parameters from the address, because they belong to the previous tab.
    const search = tab === first ? {} : { [parameter]: toAddressName(tab) };
    void navigate({ to: '.', search, resetScroll: false });
  };
  const list = useVisibleCurrent<HTMLDivElement>('[aria-selected=true]', shown.name);
  const look = looks[beside ? 'beside' : 'above'];
  return (
    <Radix.Root
      value={buildTabId(shown.name)}
      onValueChange={showTab}
      orientation={beside ? 'vertical' : 'horizontal'}
      activationMode="manual"
      className={look.root}
    >
      <Radix.List ref={list} aria-label={label} className={look.list}>
        {tabs.map(({ name }) => (
          <Radix.Trigger
            key={name}
            value={buildTabId(name)}
            className={`shrink-0 text-dim aria-selected:font-medium aria-selected:text-ink ${look.trigger}`}
          >
            {name}
          </Radix.Trigger>
        ))}
      </Radix.List>
      <Radix.Content value={buildTabId(shown.name)} className="flex min-w-0 flex-col gap-4 outline-none">
        <Suspense fallback={<Skeleton rows={6} />}>{shown.content}</Suspense>
      </Radix.Content>
    </Radix.Root>
  );
}

function toAddressName({ id, name }: Tab): string {
  return id ?? name;
}

/** Converts a name to an id that is valid in HTML. */
function buildTabId(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}
