import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  installationsList,
  type UpdateWorkflowBody,
  type Workflow,
  workflowsRead,
  workflowsUpdate,
} from '../../api/generated';
import { type Versioned, withEtag } from '../../api/versioned';
import { ConcurrencyKeysField, readConcurrencyKeys } from '../../parts/concurrency-keys';
import { useVersionedSave } from '../../ui/conflict';
import { Dialog } from '../../ui/dialog';
import { ChoiceField, Form, TextField } from '../../ui/form';
import { toast } from '../../ui/toast';

const most = 200;

/** What a workflow is called and what its runs may cost: no revision is made of that. */
export function EditWorkflowDialog({ workflow, close }: { workflow: Versioned<Workflow>; close: () => void }) {
  // As it was read when the form was opened.
  const [base] = useState(workflow);
  const client = useQueryClient();
  const path = { id: workflow.id };
  const { data } = useQuery({
    queryKey: ['packs', 'installations'],
    queryFn: ({ signal }) => installationsList({ query: { limit: most }, signal }),
  });
  const { save, conflict } = useVersionedSave<Workflow, UpdateWorkflowBody>({
    read: () => withEtag((options) => workflowsRead({ ...options, path })),
    write: (body, ifMatch) =>
      withEtag((options) => workflowsUpdate({ ...options, path, body, headers: { 'If-Match': ifMatch } })),
    labels: {
      name: 'Name',
      description: 'Description',
      maxCostUsd: 'Cost limit',
      workflowPackInstallationId: 'Pack installation',
      concurrencyKeys: 'Concurrency keys',
    },
  });
  const installations = (data?.installations ?? []).map(({ id, name }) => ({ value: id, label: name }));
  return (
    <Dialog open onOpenChange={close} title={`Edit ${base.name}`}>
      <Form
        submit="Save"
        onSubmit={(values) =>
          save(
            {
              name: values.text('name'),
              description: values.text('description'),
              maxCostUsd: values.number('maxCostUsd'),
              workflowPackInstallationId: values.text('workflowPackInstallationId') || null,
              concurrencyKeys: readConcurrencyKeys(values),
            },
            base,
          )
        }
        onDone={({ current, isMine }) => {
          void client.invalidateQueries({ queryKey: ['workflow', base.id] });
          void client.invalidateQueries({ queryKey: ['workflows'] });
          close();
          toast(isMine ? `${current.name} is saved.` : 'Left as somebody else has saved it.');
        }}
      >
        <TextField label="Name" name="name" required maxLength={200} defaultValue={base.name} autoComplete="off" />
        <TextField label="Description" name="description" defaultValue={base.description} autoComplete="off" />
        <TextField
          label="Cost limit of a run"
          name="maxCostUsd"
          type="number"
          min={0}
          step="any"
          hint="In US dollars; a run that costs more is stopped. Empty: no limit."
          defaultValue={base.maxCostUsd ?? ''}
        />
        <ChoiceField
          label="Pack installation"
          name="workflowPackInstallationId"
          hint="Its pinned version is brought along by each run."
          initial={base.workflowPackInstallationId}
          none="None"
          choices={installations}
        />
        <ConcurrencyKeysField
          initial={base.concurrencyKeys}
          hint="No more runs than the limit hold a key at once; the others wait for it."
        />
      </Form>
      {conflict}
    </Dialog>
  );
}
