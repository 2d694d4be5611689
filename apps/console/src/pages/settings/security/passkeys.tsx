import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type Passkey, type PasskeyList, passkeysList, passkeysRemove } from '../../../api/generated';
import { useList } from '../../../api/use-list';
import { Time } from '../../../format/time';
import { addPasskey } from '../../../parts/second-factor/passkeys';
import { Button } from '../../../ui/button';
import { ConfirmDialog, Dialog } from '../../../ui/dialog';
import { Form, TextField } from '../../../ui/form';
import { ActionMenu } from '../../../ui/menu';
import { SimpleList } from '../../../ui/table/simple-list';
import { showToast } from '../../../ui/toast';

const getPasskeys = (page: PasskeyList) => page.passkeys;

/** The user's own passkeys, each of which signs in without a password. */
export function Passkeys() {
  const [isAdding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Passkey | null>(null);
  const client = useQueryClient();
  const list = useList({
    queryKey: ['passkeys'],
    fetchPage: (page, signal) => passkeysList({ query: page, signal }),
    itemsOf: getPasskeys,
  });
  return (
    <>
      <SimpleList
        title="Passkeys"
        actions={<Button onClick={() => setAdding(true)}>Add a passkey</Button>}
        list={list}
        empty="You have no passkey. Add one on your phone, your computer or a security key to sign in without a password."
        heads={['Name', 'Added', 'Last used', 'Actions']}
        row={(passkey) => (
          <tr key={passkey.id}>
            <td>
              <bdi>{passkey.name}</bdi>
            </td>
            <td>
              <Time at={passkey.createdAt} relative />
            </td>
            <td>
              <Time at={passkey.lastUsedAt} relative />
            </td>
            <td>
              <ActionMenu
                name={passkey.name}
                actions={[{ label: 'Remove', danger: true, run: () => setRemoving(passkey) }]}
              />
            </td>
          </tr>
        )}
      />
      <Dialog
        open={isAdding}
        onOpenChange={setAdding}
        title="Add a passkey"
        description="Your browser asks which device stores the passkey. If this is your first second factor, your other sessions end."
      >
        <Form
          submit="Add"
          onSubmit={(values) => addPasskey(values.readText('name'))}
          onDone={({ name }) => {
            setAdding(false);
            showToast(`The passkey ${name} was added.`);
            void client.invalidateQueries();
          }}
        >
          <TextField label="Name" name="name" placeholder="Telephone" required maxLength={100} />
        </Form>
      </Dialog>
      {removing && (
        <ConfirmDialog
          open
          onOpenChange={() => setRemoving(null)}
          title={`Remove the passkey ${removing.name}?`}
          verb="Remove"
          act={async () => {
            await passkeysRemove({ path: { id: removing.id } });
            showToast(`The passkey ${removing.name} was removed.`);
            void client.invalidateQueries();
          }}
        >
          You can no longer sign in with this passkey, and your other sessions end. If it is your only second factor and
          the organization requires one, this session ends too.
        </ConfirmDialog>
      )}
    </>
  );
}
