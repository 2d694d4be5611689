import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Account, type AccountList, accountsDelete, accountsList, accountsUpdate } from '../../../api/generated';
import { usePermission } from '../../../api/session';
import { useList } from '../../../api/use-list';
import { Time } from '../../../format/time';
import { Button } from '../../../ui/button';
import { ConfirmDialog } from '../../../ui/dialog';
import { ActionMenu } from '../../../ui/menu';
import { SimpleList } from '../../../ui/table/simple-list';
import { showToast, showErrorToast } from '../../../ui/toast';
import { AccountDialog } from './account-dialog';
import { AccountUses } from './uses';

const getPageItems = (page: AccountList) => page.accounts;

const statuses: Record<Account['status'], string> = {
  free: 'free',
  busy: 'busy',
  resting: 'resting',
  set_aside: 'set aside',
  disabled: 'disabled',
};

/** The accounts that runs borrow from pools: their status, and the runs that have or had them. */
export function Accounts() {
  /** The account that is edited; empty for a new one, null if the dialog is closed. */
  const [editing, setEditing] = useState<Partial<Account> | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  const [looking, setLooking] = useState<string | null>(null);
  const mayChange = usePermission('vault.write');
  const client = useQueryClient();
  const refreshAccounts = () => client.invalidateQueries({ queryKey: ['accounts'] });
  const list = useList({
    queryKey: ['accounts'],
    fetchPage: (page, signal) => accountsList({ query: page, signal }),
    itemsOf: getPageItems,
  });
  const setAccountEnabled = async (name: string, enabled: boolean) => {
    try {
      const { status } = await accountsUpdate({ path: { name }, body: { enabled } });
      showToast(`${name} is ${statuses[status]}.`);
    } catch (error) {
      showErrorToast(error);
    }
    void refreshAccounts();
  };
  return (
    <>
      <SimpleList
        title="Accounts"
        actions={
          mayChange && (
            <Button look="primary" onClick={() => setEditing({})}>
              New account
            </Button>
          )
        }
        list={list}
        empty="No accounts yet. An account is a login at a portal. A run that requests an account of a pool borrows a free one when it starts."
        heads={['Account', 'Status', 'Limit', 'Actions']}
        row={(account) => (
          <tr key={account.name}>
            <td className="[overflow-wrap:anywhere]">
              <p>
                <bdi>{account.name}</bdi>
              </p>
              <p className="text-xs text-dim">
                pool <bdi>{account.pool}</bdi>
              </p>
            </td>
            <td>
              {statuses[account.status]}
              {account.setAside && <SetAside reported={account.setAside} />}
            </td>
            <td>{account.limit === 1 ? '1 run' : `${account.limit} runs`}</td>
            <td>
              <ActionMenu
                name={account.name}
                actions={[
                  { label: 'Show its runs', run: () => setLooking(account.name) },
                  mayChange &&
                    account.setAside !== null && {
                      label: 'Put back',
                      run: () => void setAccountEnabled(account.name, true),
                    },
                  mayChange && { label: 'Edit', run: () => setEditing(account) },
                  mayChange &&
                    account.setAside === null && {
                      label: account.enabled ? 'Disable' : 'Enable',
                      run: () => void setAccountEnabled(account.name, !account.enabled),
                    },
                  mayChange && { label: 'Delete', danger: true, run: () => setLeaving(account.name) },
                ]}
              />
            </td>
          </tr>
        )}
      />
      {editing !== null && (
        <AccountDialog
          account={editing}
          onClose={() => setEditing(null)}
          onSaved={() => {
            setEditing(null);
            void refreshAccounts();
          }}
        />
      )}
      {leaving !== null && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title={`Delete ${leaving}?`}
          verb="Delete"
          act={async () => {
            await accountsDelete({ path: { name: leaving } });
            await refreshAccounts();
            showToast(`${leaving} was deleted.`);
          }}
        >
          No further run gets the account. A run that uses it continues. The secrets of the account stay in the vault.
        </ConfirmDialog>
      )}
      {looking !== null && <AccountUses account={looking} onClose={() => setLooking(null)} />}
    </>
  );
}

/** Why, since when and by which run an account was set aside. */
function SetAside({ reported: { reason, message, since, jobId } }: { reported: NonNullable<Account['setAside']> }) {
  return (
    <p className="text-xs text-dim [overflow-wrap:anywhere]">
      {reason}
      {message !== null && (
        <>
          : <bdi className="inline! min-w-0!">{message}</bdi>
        </>
      )}
      , reported <Time at={since} relative /> by{' '}
      <Link to="/runs/$id" params={{ id: jobId }}>
        a run
      </Link>
    </p>
  );
}
