import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import {
  installationsPin,
  installationsRead,
  installationsUpdate,
  type PackInstallation,
  type UpdateInstallationBody,
  type WorkflowPack,
} from '../../../api/generated';
import { type Versioned, readWithEtag } from '../../../api/versioned';
import { useVersionedSave } from '../../../ui/conflict';
import { Dialog } from '../../../ui/dialog';
import { ErrorNote } from '../../../ui/error-note';
import { Field, Form, inputClass, TextField } from '../../../ui/form';
import { Skeleton } from '../../../ui/page';
import { showToast } from '../../../ui/toast';
import { formatVersion } from '../format-version';
import { VersionField } from './version-field';

interface InstallationDialogProps {
  installation: PackInstallation;
  close: () => void;
}

export function PinDialog({ pack, installation, close }: InstallationDialogProps & { pack: WorkflowPack }) {
  const path = { id: installation.id };
  const finish = useFinishChange(close);
  const current = useCurrentInstallation(installation.id);
  const { save, conflict } = useVersionedSave<PackInstallation, Pick<PackInstallation, 'pinnedVersionId'>>({
    read: () => readWithEtag((options) => installationsRead({ ...options, path })),
    write: ({ pinnedVersionId }, ifMatch) => {
      const body = { versionId: pinnedVersionId! };
      return readWithEtag((options) => installationsPin({ ...options, path, body, headers: { 'If-Match': ifMatch } }));
    },
    labels: { pinnedVersionId: 'Version' },
    show: (id) => {
      const version = pack.versions.find(({ versionId }) => versionId === id);
      return version ? formatVersion(version) : '–';
    },
  });
  return (
    <Dialog
      open
      onOpenChange={close}
      title={`Pin ${installation.name}`}
      description="Launches from now on run this version. Waiting runs keep the version that they were launched with."
    >
      <WhenLoaded current={current}>
        {(base) => (
          <Form
            submit="Pin"
            onSubmit={(values) => save({ pinnedVersionId: values.readText('versionId') }, base)}
            onDone={({ isMine }) => finish(isMine ? `${installation.name} is pinned.` : 'Your change was not saved.')}
          >
            <VersionField pack={pack} initial={base.pinnedVersionId} />
          </Form>
        )}
      </WhenLoaded>
      {conflict}
    </Dialog>
  );
}

export function EditInstallationDialog({ installation, close }: InstallationDialogProps) {
  const path = { id: installation.id };
  const finish = useFinishChange(close);
  const current = useCurrentInstallation(installation.id);
  const { save, conflict } = useVersionedSave<PackInstallation, UpdateInstallationBody>({
    read: () => readWithEtag((options) => installationsRead({ ...options, path })),
    write: (body, ifMatch) =>
      readWithEtag((options) => installationsUpdate({ ...options, path, body, headers: { 'If-Match': ifMatch } })),
    labels: { name: 'Name', metadata: 'Metadata' },
  });
  return (
    <Dialog open onOpenChange={close} title={`Edit ${installation.name}`}>
      <WhenLoaded current={current}>
        {(base) => (
          <Form
            submit="Save"
            onSubmit={(values) => save({ name: values.readText('name'), metadata: values.readJson('metadata') }, base)}
            onDone={({ isMine }) => finish(isMine ? 'Saved.' : 'Your change was not saved.')}
          >
            <TextField label="Name" name="name" required maxLength={200} defaultValue={base.name} autoComplete="off" />
            <Field
              label="Metadata"
              name="metadata"
              hint="A JSON object. The field ring with the value pilot marks an installation that tests versions of the stage pilot."
            >
              {(control) => (
                <textarea
                  {...control}
                  rows={5}
                  spellCheck={false}
                  defaultValue={JSON.stringify(base.metadata, null, 2)}
                  className={`${inputClass} font-mono text-xs`}
                />
              )}
            </Field>
          </Form>
        )}
      </WhenLoaded>
      {conflict}
    </Dialog>
  );
}

/** Reads the installation with its entity tag, which lists do not contain. */
function useCurrentInstallation(id: string) {
  return useQuery({
    queryKey: ['packs', 'installation', id, 'edited'],
    queryFn: ({ signal }) => readWithEtag((options) => installationsRead({ ...options, path: { id }, signal })),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
}

interface LoadedProps {
  current: ReturnType<typeof useCurrentInstallation>;
  children: (base: Versioned<PackInstallation>) => ReactNode;
}

function WhenLoaded({ current: { data, error, refetch }, children }: LoadedProps) {
  // Later responses are ignored, so that the change is based on the installation that the dialog displayed.
  const [base, setBase] = useState(data);
  if (data && !base) setBase(data);
  if (base) return children(base);
  return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={2} />;
}

function useFinishChange(close: () => void): (text: string) => Promise<void> {
  const client = useQueryClient();
  return async (text) => {
    close();
    await client.invalidateQueries({ queryKey: ['packs'] });
    showToast(text);
  };
}
