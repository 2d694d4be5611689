import { Plus, X } from 'lucide-react';
import { useId, useState } from 'react';
import type { AccountRequest } from '../../api/generated';
import { Button, IconButton } from '../../ui/button';
import { TextField, type Values } from '../../ui/form';

const most = 3;

interface AccountsProps {
  initial?: readonly AccountRequest[];
  /** Explains which runs get the accounts. */
  hint: string;
}

/** Accounts that runs request, one per row: the pool, and the name that the script knows the account by. */
export function AccountsField({ initial = [], hint }: AccountsProps) {
  const [rows, setRows] = useState(() => initial.map((row, id) => ({ ...row, id })));
  const hintId = useId();
  const add = () => setRows([...rows, { id: Math.max(-1, ...rows.map(({ id }) => id)) + 1, pool: '', as: '' }]);
  return (
    <fieldset className="flex flex-col gap-2 sm:col-span-full" aria-describedby={hintId}>
      <legend className="mb-1 font-medium">Accounts</legend>
      {rows.map(({ id, pool, as }, at) => (
        <div key={id} className="flex items-end gap-2">
          <div className="grow">
            <TextField
              label="Pool"
              name={`accounts.${at}.pool`}
              required
              maxLength={100}
              defaultValue={pool}
              placeholder="delta-dental"
              autoComplete="off"
            />
          </div>
          <div className="grow">
            <TextField
              label="Name in the script"
              name={`accounts.${at}.as`}
              required
              maxLength={100}
              defaultValue={as}
              placeholder="PORTAL"
              autoComplete="off"
            />
          </div>
          <IconButton label="Remove this account" onClick={() => setRows(rows.filter((row) => row.id !== id))}>
            <X aria-hidden className="size-4" />
          </IconButton>
        </div>
      ))}
      {rows.length < most && (
        <div>
          <Button type="button" onClick={add}>
            <Plus aria-hidden className="size-4" />
            Add account
          </Button>
        </div>
      )}
      <p id={hintId} className="text-xs text-dim">
        {hint} With the name PORTAL, the script finds it as PORTAL_USERNAME, PORTAL_PASSWORD and so on.
      </p>
    </fieldset>
  );
}

/** Reads the accounts of the rows, in their order. */
export function readAccounts(values: Values): AccountRequest[] {
  const accounts: AccountRequest[] = [];
  for (let at = 0; at < most; at += 1) {
    const pool = values.readText(`accounts.${at}.pool`);
    const as = values.readText(`accounts.${at}.as`);
    if (pool !== '' || as !== '') accounts.push({ pool, as });
  }
  return accounts;
}

/** The accounts as text, each with its name in the script. */
export function accountsInWords(accounts: readonly AccountRequest[]): string {
  return accounts.map(({ pool, as }) => `${pool} as ${as}`).join(', ') || 'none';
}
