import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  installationsList,
  type UpdateWorkflowBody,
  type Workflow,
  workflowsRead,
  workflowsUpdate,
} from '../../api/generated';
import { type Versioned, readWithEtag } from '../../api/versioned';
import { AccountsField, readAccounts } from '../../parts/guards/accounts';
import { ConcurrencyKeysField, readConcurrencyKeys } from '../../parts/guards/concurrency-keys';
import { useVersionedSave } from '../../ui/conflict';
import { Dialog } from '../../ui/dialog';
import { ChoiceField, Form, TextField, type Values } from '../../ui/form';
import { showToast } from '../../ui/toast';

const most = 200;

/** Edits a workflow's details, such as its name and cost limit. This creates no revision. */
export function EditWorkflowDialog({ workflow, close }: { workflow: Versioned<Workflow>; close: () => void }) {
  // The workflow at the time the form was opened.
  const [base] = useState(workflow);
  const client = useQueryClient();
  const path = { id: workflow.id };
  const { data } = useQuery({
    queryKey: ['packs', 'installations'],
    queryFn: ({ signal }) => installationsList({ query: { limit: most }, signal }),
  });
  const { save, conflict } = useVersionedSave<Workflow, UpdateWorkflowBody>({
    read: () => readWithEtag((options) => workflowsRead({ ...options, path })),
    write: (body, ifMatch) =>
      readWithEtag((options) => workflowsUpdate({ ...options, path, body, headers: { 'If-Match': ifMatch } })),
    labels: {
      name: 'Name',
      description: 'Description',
      maxCostUsd: 'Cost limit',
      workflowPackInstallationId: 'Pack installation',
      concurrencyKeys: 'Concurrency keys',
      accounts: 'Accounts',
      sensitiveVariables: 'Sensitive variables',
      sensitiveResults: 'Sensitive results',
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
              name: values.readText('name'),
              description: values.readText('description'),
              maxCostUsd: values.readNumber('maxCostUsd'),
              workflowPackInstallationId: values.readText('workflowPackInstallationId') || null,
              concurrencyKeys: readConcurrencyKeys(values),
              accounts: readAccounts(values),
              sensitiveVariables: readNames(values, 'sensitiveVariables'),
              sensitiveResults: readNames(values, 'sensitiveResults'),
            },
            base,
          )
        }
        onDone={({ current, isMine }) => {
          void client.invalidateQueries({ queryKey: ['workflow', base.id] });
          void client.invalidateQueries({ queryKey: ['workflows'] });
          close();
          showToast(isMine ? `${current.name} was saved.` : 'Your change was not saved.');
        }}
      >
        <TextField label="Name" name="name" required maxLength={200} defaultValue={base.name} autoComplete="off" />
        <TextField label="Description" name="description" defaultValue={base.description} autoComplete="off" />
        <TextField
          label="Cost limit per run"
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
          hint="Each run uses the pinned version of this installation."
          initial={base.workflowPackInstallationId}
          none="None"
          choices={installations}
        />
        <ConcurrencyKeysField
          initial={base.concurrencyKeys}
          hint="At most this number of runs can hold the key at the same time. Other runs wait."
        />
        <AccountsField
          initial={base.accounts}
          hint="Each run borrows one free account of each pool, and waits until there is one."
        />
        <TextField
          label="Sensitive variables"
          name="sensitiveVariables"
          defaultValue={base.sensitiveVariables.join(', ')}
          autoComplete="off"
          hint="Names of variables with patients’ data, separated by commas. Their values are stored encrypted, and shown only to users who may see screens."
        />
        <TextField
          label="Sensitive results"
          name="sensitiveResults"
          defaultValue={base.sensitiveResults.join(', ')}
          autoComplete="off"
          hint="Names in the result with patients’ data, separated by commas."
        />
      </Form>
      {conflict}
    </Dialog>
  );
}

function readNames(values: Values, name: string): string[] {
  const names = values.readText(name).split(',');
  return [...new Set(names.map((each) => each.trim()).filter(Boolean))];
}
