import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { packsRead, packsUpdate, type UpdatePackBody, type WorkflowPack } from '../../api/generated';
import { type Versioned, readWithEtag } from '../../api/versioned';
import { useVersionedSave } from '../../ui/conflict';
import { Dialog } from '../../ui/dialog';
import { Form, TextField } from '../../ui/form';
import { showToast } from '../../ui/toast';

export function EditPackDialog({ pack, close }: { pack: Versioned<WorkflowPack>; close: () => void }) {
  // The pack as it was when the form opened. If another user changes the pack later, saving reports a conflict; the
  // form does not take over the change.
  const [base] = useState(pack);
  const client = useQueryClient();
  const path = { id: pack.id };
  const { save, conflict } = useVersionedSave<WorkflowPack, UpdatePackBody>({
    read: () => readWithEtag((options) => packsRead({ ...options, path })),
    write: (body, ifMatch) =>
      readWithEtag((options) => packsUpdate({ ...options, path, body, headers: { 'If-Match': ifMatch } })),
    labels: { name: 'Name', description: 'Description', stageTags: 'Tags' },
  });
  return (
    <Dialog open onOpenChange={close} title={`Edit ${base.name}`}>
      <Form
        submit="Save"
        onSubmit={(values) =>
          save(
            {
              name: values.readText('name'),
              description: values.readText('description'),
              stageTags: values
                .readText('stageTags')
                .split(',')
                .map((tag) => tag.trim())
                .filter(Boolean),
            },
            base,
          )
        }
        onDone={async ({ isMine }) => {
          await client.invalidateQueries({ queryKey: ['packs'] });
          close();
          showToast(isMine ? 'Saved.' : 'Your change was not saved.');
        }}
      >
        <TextField label="Name" name="name" required maxLength={200} defaultValue={base.name} autoComplete="off" />
        <TextField label="Description" name="description" defaultValue={base.description} autoComplete="off" />
        <TextField
          label="Tags"
          name="stageTags"
          hint="Separated by commas."
          defaultValue={base.stageTags.join(', ')}
          autoComplete="off"
        />
      </Form>
      {conflict}
    </Dialog>
  );
}
