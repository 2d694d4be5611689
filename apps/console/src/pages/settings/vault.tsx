import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type SecretList, vaultDelete, vaultList, vaultPut } from '../../api/generated';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { Button } from '../../ui/button';
import { ConfirmDialog, Dialog } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { ActionMenu } from '../../ui/menu';
import { showToast } from '../../ui/toast';
import { SimpleList } from '../../ui/table/simple-list';
import { useUrlState } from '../../ui/table/use-url-state';

const getSecrets = (page: SecretList) => page.secrets;

/** The names of the secrets. The service never shows their values again. */
export function Vault() {
  const [{ q }] = useUrlState();
  /** Name of the secret whose value is replaced; empty for a new secret, null if the dialog is closed. */
  const [writing, setWriting] = useState<string | null>(null);
  const [leaving, setLeaving] = useState<string | null>(null);
  const client = useQueryClient();
  const refreshSecrets = () => client.invalidateQueries({ queryKey: ['vault'] });
  const list = useList({
    queryKey: ['vault', q],
    fetchPage: (page, signal) => vaultList({ query: { ...page, q }, signal }),
    itemsOf: getSecrets,
  });
  return (
    <>
      <SimpleList
        title="Vault"
        actions={
          <Button look="primary" onClick={() => setWriting('')}>
            New secret
          </Button>
        }
        list={list}
        search="Search secrets"
        empty="No secrets yet. Use “New secret” to store a value that scripts read by its name."
        heads={['Name', 'Changed', 'Actions']}
        row={({ key, updatedAt }) => (
          <tr key={key}>
            <td>
              <bdi className="font-mono text-xs">{key}</bdi>
            </td>
            <td>
              <Time at={updatedAt} relative />
            </td>
            <td>
              <ActionMenu
                name={key}
                actions={[
                  { label: 'Replace value', run: () => setWriting(key) },
                  { label: 'Delete', danger: true, run: () => setLeaving(key) },
                ]}
              />
            </td>
          </tr>
        )}
      />
      <Dialog
        open={writing !== null}
        onOpenChange={() => setWriting(null)}
        title={writing ? `Replace the value of ${writing}` : 'New secret'}
      >
        <Form
          submit="Save"
          onSubmit={(values) =>
            vaultPut({ path: { key: values.readText('key') }, body: { value: values.readExactText('value') } })
          }
          onDone={() => {
            setWriting(null);
            void refreshSecrets();
            showToast('The secret was saved.');
          }}
        >
          <TextField
            label="Name"
            name="key"
            required
            autoComplete="off"
            readOnly={Boolean(writing)}
            defaultValue={writing ?? ''}
            hint="For example PORTAL_PASSWORD. An existing secret with this name is replaced."
          />
          <TextField label="Value" name="value" type="password" required autoComplete="new-password" />
        </Form>
      </Dialog>
      {leaving && (
        <ConfirmDialog
          open
          onOpenChange={() => setLeaving(null)}
          title={`Delete ${leaving}?`}
          verb="Delete"
          act={async () => {
            await vaultDelete({ path: { key: leaving } });
            await refreshSecrets();
            showToast(`${leaving} was deleted.`);
          }}
        >
          The value cannot be restored. Runs that need this secret fail with secret_missing, and schedules that need it
          skip their runs.
        </ConfirmDialog>
      )}
    </>
  );
}
