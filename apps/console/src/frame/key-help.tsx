import { useCurrentUser } from '../api/session';
import { Dialog } from '../ui/dialog';
import { listPlacesOf } from './places';

const general: [keys: string, does: string][] = [
  ['/', 'Search this page'],
  ['?', 'Show the keyboard shortcuts'],
  ['Ctrl K', 'Go to a page, an agent, a workflow or a run'],
  ['Esc', 'Close the dialog or menu'],
];

export function KeyHelp({ close }: { close: () => void }) {
  const { user } = useCurrentUser();
  const rows = [...general, ...listPlacesOf(user).map(({ name, letter }): [string, string] => [`g ${letter}`, name])];
  return (
    <Dialog open onOpenChange={close} title="Keyboard shortcuts">
      <dl className="grid grid-cols-[max-content_1fr] items-center gap-x-4 gap-y-2">
        {rows.map(([keys, does]) => (
          <div key={keys} className="contents">
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key} className="mr-1 rounded border border-edge bg-sunken px-1.5 py-0.5 font-mono text-xs">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
