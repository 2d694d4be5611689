import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import type { ConcurrencyKey } from '../../api/generated';
import { Button, IconButton } from '../../ui/button';
import { TextField, type Values } from '../../ui/form';

const most = 5;

interface KeysProps {
  initial?: readonly ConcurrencyKey[];
  /** Explains which runs need the keys. */
  hint: string;
}

/** Concurrency keys, one per row, each with the maximum number of runs that hold it at once. */
export function ConcurrencyKeysField({ initial = [], hint }: KeysProps) {
  const [rows, setRows] = useState(() => initial.map((row, id) => ({ ...row, id })));
  const hintId = useId();
  const add = () => setRows([...rows, { id: Math.max(-1, ...rows.map(({ id }) => id)) + 1, key: '' }]);
  return (
    <fieldset className="flex flex-col gap-2 sm:col-span-full" aria-describedby={hintId}>
      <legend className="mb-1 font-medium">Concurrency keys</legend>
      {rows.map(({ id, key, limit }, at) => (
        <div key={id} className="flex items-end gap-2">
          <div className="grow">
            <TextField
              label="Key"
              name={`concurrencyKeys.${at}.key`}
              required
              maxLength={200}
              defaultValue={key}
              placeholder="delta-dental:{{PORTAL_USER}}"
              autoComplete="off"
            />
          </div>
          <div className="w-24">
            <TextField
              label="Limit"
              name={`concurrencyKeys.${at}.limit`}
              type="number"
              min={1}
              max={1000}
              step={1}
              placeholder="1"
              defaultValue={limit ?? ''}
            />
          </div>
          <IconButton label="Remove this key" onClick={() => setRows(rows.filter((row) => row.id !== id))}>
            <X aria-hidden className="size-4" />
          </IconButton>
        </div>
      ))}
      {rows.length < most && (
        <div>
          <Button type="button" onClick={add}>
            <Plus aria-hidden className="size-4" />
            Add key
          </Button>
        </div>
      )}
      <p id={hintId} className="text-xs text-dim">
        {hint} A key can contain variables, such as {'{{NAME}}'}.
      </p>
    </fieldset>
  );
}

/** Reads the keys of the rows, in their order. */
export function readConcurrencyKeys(values: Values): ConcurrencyKey[] {
  const keys: ConcurrencyKey[] = [];
  for (let at = 0; at < most; at += 1) {
    const key = values.readText(`concurrencyKeys.${at}.key`);
    const limit = values.readNumber(`concurrencyKeys.${at}.limit`);
    if (key !== '') keys.push({ key, ...(limit === null ? {} : { limit }) });
  }
  return keys;
}

/** The keys as text, each with its limit if that is not 1. */
export function keysInWords(keys: readonly ConcurrencyKey[]): string {
  return keys.map(({ key, limit = 1 }) => (limit === 1 ? key : `${key} (${limit} at once)`)).join(', ') || 'none';
}
