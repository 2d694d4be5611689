import type { AccountRequest } from '../../api/generated';
import { TextField, type Values } from '../../ui/form';
import { RowsField } from './rows-field';

const maxAccounts = 3;

interface AccountsProps {
  initial?: readonly AccountRequest[];
  /** Explains which runs get the accounts. */
  hint: string;
}

/** Accounts that runs request, one per row: the pool, and the name that the script knows the account by. */
export function AccountsField({ initial = [], hint }: AccountsProps) {
  return (
    <RowsField
      legend="Accounts"
      noun="account"
      initial={initial}
      maxRows={maxAccounts}
      hint={`${hint} With the name PORTAL, the script finds it as PORTAL_USERNAME, PORTAL_PASSWORD and so on.`}
      fieldsOf={({ pool, as }, at) => (
        <>
          <div className="grow">
            <TextField
              label="Pool"
              name={`accounts.${at}.pool`}
              required
              maxLength={100}
              defaultValue={pool ?? ''}
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
              defaultValue={as ?? ''}
              placeholder="PORTAL"
              autoComplete="off"
            />
          </div>
        </>
      )}
    />
  );
}

/** Reads the accounts of the rows, in their order. */
export function readAccounts(values: Values): AccountRequest[] {
  const accounts: AccountRequest[] = [];
  for (let at = 0; at < maxAccounts; at += 1) {
    const pool = values.readText(`accounts.${at}.pool`);
    const as = values.readText(`accounts.${at}.as`);
    if (pool !== '' || as !== '') accounts.push({ pool, as });
  }
  return accounts;
}

/** The accounts as text, each with its name in the script. */
export function formatAccounts(accounts: readonly AccountRequest[]): string {
  return accounts.map(({ pool, as }) => `${pool} as ${as}`).join(', ') || 'none';
}
