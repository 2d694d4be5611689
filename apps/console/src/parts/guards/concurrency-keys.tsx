import type { ConcurrencyKey } from '../../api/generated';
import { TextField, type Values } from '../../ui/form';
import { RowsField } from './rows-field';

const maxKeys = 5;

interface KeysProps {
  initial?: readonly ConcurrencyKey[];
  /** Explains which runs need the keys. */
  hint: string;
}

/** Concurrency keys, one per row, each with the maximum number of runs that hold it at once. */
export function ConcurrencyKeysField({ initial = [], hint }: KeysProps) {
  return (
    <RowsField
      legend="Concurrency keys"
      noun="key"
      initial={initial}
      maxRows={maxKeys}
      hint={`${hint} A key can contain variables, such as {{NAME}}.`}
      fieldsOf={({ key, limit }, at) => (
        <>
          <div className="grow">
            <TextField
              label="Key"
              name={`concurrencyKeys.${at}.key`}
              required
              maxLength={200}
              defaultValue={key ?? ''}
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
        </>
      )}
    />
  );
}

/** Reads the keys of the rows, in their order. */
export function readConcurrencyKeys(values: Values): ConcurrencyKey[] {
  const keys: ConcurrencyKey[] = [];
  for (let at = 0; at < maxKeys; at += 1) {
    const key = values.readText(`concurrencyKeys.${at}.key`);
    const limit = values.readNumber(`concurrencyKeys.${at}.limit`);
    if (key !== '') keys.push({ key, ...(limit === null ? {} : { limit }) });
  }
  return keys;
}

/** The keys as text, each with its limit if that is not 1. */
export function formatConcurrencyKeys(keys: readonly ConcurrencyKey[]): string {
  return keys.map(({ key, limit = 1 }) => (limit === 1 ? key : `${key} (${limit} at once)`)).join(', ') || 'none';
}
