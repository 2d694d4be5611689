import { type ReactNode, useState } from 'react';
import { isApiError } from '../api/api-error';
import type { Versioned } from '../api/versioned';
import { escapeDirectionMarks } from '../format/one-direction';
import { Button } from './button';
import { Dialog, DialogActions } from './dialog';

interface SavingInput<T extends object, C extends Partial<T>> {
  /** Reads the current version. */
  read: () => Promise<Versioned<T>>;
  write: (change: C, ifMatch: string) => Promise<Versioned<T>>;
  /** Labels of the fields in the comparison. */
  labels: { [K in keyof C]?: string };
  /** Formats a value for the comparison, if its JSON is not readable enough. */
  show?: (value: unknown) => string;
}

interface Saved<T extends object> {
  current: Versioned<T>;
  /** Whether the user's own version was saved; false if the user chose the version of another user. */
  isMine: boolean;
}

interface Saving<T extends object, C extends Partial<T>> {
  save: (change: C, base: Versioned<T>) => Promise<Saved<T>>;
  /** The dialog; render it next to the form. */
  conflict: ReactNode;
}

type Choice = 'mine' | 'theirs' | 'neither';

interface PendingConflict<T extends object, C extends Partial<T>> {
  mine: C;
  base: T;
  theirs: T;
  choose: (choice: Choice) => void;
}

/**
 * Saves the changed fields of a resource with If-Match. If another user has changed the resource since it was read, a
 * dialog shows both versions and the user chooses one. Fields that this user did not change keep the other's values.
 */
export function useVersionedSave<T extends object, C extends Partial<T>>({
  read,
  write,
  labels,
  show = valueToText,
}: SavingInput<T, C>): Saving<T, C> {
  const [pending, setPending] = useState<PendingConflict<T, C> | null>(null);
  const askForChoice = (found: Omit<PendingConflict<T, C>, 'choose'>) =>
    new Promise<Choice>((resolve) => {
      const resolveChoice = (choice: Choice) => {
        setPending(null);
        resolve(choice);
      };
      setPending({ ...found, choose: resolveChoice });
    });
  const saveVersioned = async (change: C, base: Versioned<T>): Promise<Saved<T>> => {
    const mine = pickChangedFields<T, C>(change, base);
    if (listKeys(mine).length === 0) return { current: base, isMine: true };
    for (let { etag } = base; ;) {
      try {
        return { current: await write(mine, etag), isMine: true };
      } catch (error) {
        if (!isApiError(error, 'precondition_failed', 'draft_head_conflict')) throw error;
        const theirs = await read();
        const choice = await askForChoice({ mine, base, theirs });
        if (choice === 'theirs') return { current: theirs, isMine: false };
        if (choice === 'neither') throw error;
        etag = theirs.etag;
      }
    }
  };
  return { save: saveVersioned, conflict: pending && <ConflictDialog {...pending} labels={labels} show={show} /> };
}

interface ConflictProps<T extends object, C extends Partial<T>> extends PendingConflict<T, C> {
  labels: { [K in keyof C]?: string };
  show: (value: unknown) => string;
}

function ConflictDialog<T extends object, C extends Partial<T>>(props: ConflictProps<T, C>) {
  const { mine, base, theirs, labels, show, choose } = props;
  const getLabel = (key: keyof C) => labels[key] ?? String(key);
  const contested = listKeys(mine).filter((key) => !isSameJson(mine[key], theirs[key as keyof T]));
  const alsoTheirs = listKeys(labels).filter(
    (key) => !(key in mine) && !isSameJson(base[key as keyof T], theirs[key as keyof T]),
  );
  return (
    <Dialog
      open
      onOpenChange={() => choose('neither')}
      title="Another user has changed this"
      description="Another user saved a change after you opened this. Your changes are not saved yet."
      wide
    >
      {contested.map((key) => (
        <section key={String(key)} aria-label={getLabel(key)} className="flex flex-col gap-1.5">
          <h3 className="font-medium">{getLabel(key)}</h3>
          <div className="grid gap-2 sm:grid-cols-2">
            <ConflictVersion label="Mine" field={getLabel(key)} text={show(mine[key])} />
            <ConflictVersion label="Theirs" field={getLabel(key)} text={show(theirs[key as keyof T])} />
          </div>
        </section>
      ))}
      {alsoTheirs.length > 0 && (
        <p className="text-dim">
          The other user has also changed {alsoTheirs.map(getLabel).join(', ')}. These changes stay, whichever version
          you choose.
        </p>
      )}
      <DialogActions>
        <Button onClick={() => choose('neither')}>Continue editing</Button>
        <Button onClick={() => choose('theirs')}>Take theirs</Button>
        <Button look="primary" onClick={() => choose('mine')}>
          Keep mine
        </Button>
      </DialogActions>
    </Dialog>
  );
}

function ConflictVersion({ label, field, text }: { label: string; field: string; text: string }) {
  return (
    <div className="min-w-0">
      <p className="text-xs text-dim">{label}</p>
      <pre
        tabIndex={0}
        dir="auto"
        aria-label={`${field}: ${label.toLowerCase()}`}
        className="max-h-60 overflow-auto rounded-control bg-sunken p-2 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {escapeDirectionMarks(text)}
      </pre>
    </div>
  );
}

/** Returns the fields that differ from `base`. A form also sends the fields that the user did not change. */
function pickChangedFields<T extends object, C extends Partial<T>>(change: C, base: T): C {
  const touched = listKeys(change).filter((key) => !isSameJson(change[key], base[key as keyof T]));
  return Object.fromEntries(touched.map((key) => [key, change[key]])) as unknown as C;
}

function listKeys<C extends object>(change: C): (keyof C)[] {
  return Object.keys(change) as (keyof C)[];
}

function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function valueToText(value: unknown): string {
  if (value === null || value === undefined || value === '') return '–';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((each) => typeof each === 'string')) return value.join('\n') || '–';
  return JSON.stringify(value, null, 2);
}
