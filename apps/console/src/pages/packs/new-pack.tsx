import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId } from 'react';
import { packsEnsure, processLibraryList, processLibraryPut } from '../../api/generated';
import { usePermission } from '../../api/session';
import { Dialog } from '../../ui/dialog';
import { Field, Form, inputClass, TextField } from '../../ui/form';

const most = 200;

interface NewPackProps {
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

/** Creates the pack of a process. An admin can also name a process that the process library does not have yet. */
export function NewPackDialog({ open, onOpenChange }: NewPackProps) {
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title="New pack">
      {open && <NewPackForm close={() => onOpenChange(false)} />}
    </Dialog>
  );
}

function NewPackForm({ close }: { close: () => void }) {
  const known = useId();
  const mayNameProcess = usePermission('settings.admin');
  const navigate = useNavigate();
  const client = useQueryClient();
  const { data } = useQuery({
    queryKey: ['packs', 'processes'],
    queryFn: ({ signal }) => processLibraryList({ query: { limit: most }, signal }),
  });
  const processes = data?.processes ?? [];
  return (
    <Form
      submit="Create pack"
      onSubmit={async (values) => {
        const workerKey = values.readText('workerKey');
        const name = values.readText('name');
        const description = values.readText('description');
        if (mayNameProcess && !processes.some((each) => each.workerKey === workerKey)) {
          await processLibraryPut({ path: { workerKey }, body: { name: name || workerKey, description } });
        }
        return packsEnsure({ body: { workerKey, ...(name ? { name } : {}), ...(description ? { description } : {}) } });
      }}
      onDone={({ id }) => {
        close();
        void client.invalidateQueries({ queryKey: ['packs'] });
        void navigate({ to: '/packs/$id', params: { id } });
      }}
    >
      <Field
        label="Worker key"
        name="workerKey"
        hint={
          mayNameProcess
            ? 'Enter the worker key of a process in the process library, or a new one: lowercase letters, digits, ' +
              'dots and dashes.'
            : 'Worker key of a process in the process library. An admin can add processes.'
        }
      >
        {(control) => (
          <input
            {...control}
            required
            list={known}
            maxLength={100}
            pattern="[a-z0-9][a-z0-9._\-]*"
            autoComplete="off"
            className={inputClass}
          />
        )}
      </Field>
      <datalist id={known}>
        {processes.map(({ workerKey, name }) => (
          <option key={workerKey} value={workerKey}>
            {name}
          </option>
        ))}
      </datalist>
      <TextField
        label="Name"
        name="name"
        maxLength={200}
        hint="If this is empty, the process name is used."
        autoComplete="off"
      />
      <TextField label="Description" name="description" autoComplete="off" />
    </Form>
  );
}
