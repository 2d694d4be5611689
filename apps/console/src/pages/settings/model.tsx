import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { isApiError } from '../../api/api-error';
import {
  organizationModelDelete,
  organizationModelPut,
  organizationModelRead,
  vaultList,
  type OrganizationModel,
} from '../../api/generated';
import { type Versioned, readWithEtag } from '../../api/versioned';
import { Button } from '../../ui/button';
import { useVersionedSave } from '../../ui/conflict';
import { ConfirmDialog } from '../../ui/dialog';
import { ErrorNote } from '../../ui/error-note';
import { ChoiceField, Form, TextField } from '../../ui/form';
import { Panel, Skeleton } from '../../ui/page';
import { showToast } from '../../ui/toast';

const key = ['organization-model'];

/** The language model for chat, autopilot and video analysis: the organization's own, or else the deployment's. */
export function ModelSettings() {
  const { data, error, refetch } = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) => {
      try {
        return await readWithEtag((options) => organizationModelRead({ ...options, signal }));
      } catch (refused) {
        if (isApiError(refused, 'not_found')) return null;
        throw refused;
      }
    },
  });
  // The form stays after a failed refetch, so that the user's input is not lost.
  if (data === undefined)
    return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={5} />;
  return <ModelForm key={data ? 'own' : 'none'} read={data} />;
}

const labels = {
  baseUrl: 'Base URL',
  name: 'Model name',
  visionName: 'Model for images',
  apiKeyVaultKey: 'Secret with its API key',
} as const satisfies Record<keyof OrganizationModel, string>;

/** The form keeps the model that it loaded. Changes by another admin are shown as a conflict when it is saved. */
function ModelForm({ read }: { read: Versioned<OrganizationModel> | null }) {
  const [asks, setAsks] = useState(false);
  const [{ model, version }, setBase] = useState({ model: read, version: 0 });
  const client = useQueryClient();
  const { save, conflict } = useVersionedModel(model);
  const { data: secrets } = useQuery({
    queryKey: ['vault', 'names'],
    queryFn: ({ signal }) => vaultList({ query: { limit: 200 }, signal }),
  });
  const names = secrets?.secrets.map(({ key: name }) => ({ value: name, label: name })) ?? [];
  return (
    <Panel
      title="Model"
      actions={
        model && (
          <Button look="danger" onClick={() => setAsks(true)}>
            Remove
          </Button>
        )
      }
    >
      <p className="mb-3 text-dim">
        {model
          ? 'The organization uses its own language model.'
          : 'The organization uses the language model that the operator of the service has configured, if there is ' +
            'one. To use another model, enter it here.'}
      </p>
      <Form
        key={version}
        submit="Save"
        onSubmit={(values) =>
          save({
            baseUrl: values.readText('baseUrl'),
            name: values.readText('name'),
            visionName: values.readText('visionName') || null,
            apiKeyVaultKey: values.readText('apiKeyVaultKey'),
          })
        }
        onDone={({ current, isMine, isShown }) => {
          setBase({ model: current, version: isShown ? version : version + 1 });
          client.setQueryData(key, current);
          showToast(isMine ? 'Saved.' : 'Your change was not saved.');
        }}
      >
        <TextField
          label={labels.baseUrl}
          name="baseUrl"
          type="url"
          required
          defaultValue={model?.baseUrl}
          hint="URL of an OpenAI-compatible API with its version path, such as https://api.openai.com/v1."
        />
        <TextField label={labels.name} name="name" required maxLength={200} defaultValue={model?.name} />
        <TextField
          label={labels.visionName}
          name="visionName"
          maxLength={200}
          defaultValue={model?.visionName ?? ''}
          hint="Empty: the model above is also used for images."
        />
        <ChoiceField
          label={labels.apiKeyVaultKey}
          name="apiKeyVaultKey"
          required
          initial={model?.apiKeyVaultKey}
          choices={names}
          hint="Name of a secret in the vault."
        />
      </Form>
      <ConfirmDialog
        open={asks}
        onOpenChange={setAsks}
        title="Remove the organization’s model?"
        verb="Remove"
        act={async () => {
          await organizationModelDelete({ headers: { 'If-Match': model!.etag } });
          client.setQueryData(key, null);
          showToast('The model of the service is used now.');
        }}
      >
        Chat and autopilot then use the model that the operator of the service has configured. Without such a model,
        they do not work.
      </ConfirmDialog>
      {conflict}
    </Panel>
  );
}

/** The API replaces the whole model, so the fields that the user did not change are sent as last read. */
function useVersionedModel(base: Versioned<OrganizationModel> | null) {
  const latest = useRef<OrganizationModel | null>(null);
  const putModel = ({ baseUrl, name, visionName, apiKeyVaultKey }: OrganizationModel, ifMatch?: string) =>
    readWithEtag((options) =>
      organizationModelPut({
        ...options,
        body: { baseUrl, name, apiKeyVaultKey, ...(visionName === null ? {} : { visionName }) },
        ...(ifMatch === undefined ? {} : { headers: { 'If-Match': ifMatch } }),
      }),
    );
  const { save, conflict } = useVersionedSave<OrganizationModel, Partial<OrganizationModel>>({
    read: async () => {
      const theirs = await readWithEtag((options) => organizationModelRead(options));
      latest.current = theirs;
      return theirs;
    },
    write: (change, ifMatch) => putModel({ ...latest.current!, ...change }, ifMatch),
    labels,
  });
  return {
    conflict,
    save: async (whole: OrganizationModel) => {
      latest.current = base;
      const saved = base ? await save(whole, base) : { current: await putModel(whole), isMine: true };
      const names = Object.keys(labels) as (keyof typeof labels)[];
      return { ...saved, isShown: names.every((name) => saved.current[name] === whole[name]) };
    },
  };
}
