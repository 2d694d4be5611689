import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import {
  type OrganizationSettings,
  organizationUpdate,
  type UpdateOrganizationSettingsBody,
} from '../../api/generated';
import { settingsQuery, usePermission } from '../../api/session';
import { type Versioned, readWithEtag } from '../../api/versioned';
import { useVersionedSave } from '../../ui/conflict';
import { ErrorNote } from '../../ui/error-note';
import { Form, type Values } from '../../ui/form';
import { FactList, Panel, Skeleton } from '../../ui/page';
import { showToast } from '../../ui/toast';

type Change = UpdateOrganizationSettingsBody;
export type SettingLabels = { [K in keyof Change]?: string };

interface SettingsFormProps {
  title: string;
  /** The settings of this form and their labels. */
  labels: SettingLabels;
  changeOf: (values: Values) => Change;
  children: (settings: OrganizationSettings) => ReactNode;
}

/** Some of the organization's settings: a form for users who may change them, a read-only list for others. */
export function SettingsForm(props: SettingsFormProps) {
  const { data, error, refetch } = useQuery(settingsQuery);
  const mayChange = usePermission('settings.admin');
  if (!data) return error ? <ErrorNote error={error} retry={() => void refetch()} /> : <Skeleton rows={6} />;
  if (!mayChange) return <ReadOnlySettings {...props} settings={data} />;
  return <EditableSettings {...props} settings={data} />;
}

type Loaded = SettingsFormProps & { settings: Versioned<OrganizationSettings> };

/** The form keeps the settings that it loaded. Changes by other users are shown as a conflict when it is saved. */
function EditableSettings({ title, labels, changeOf, children, settings }: Loaded) {
  const [{ base, key }, setState] = useState({ base: settings, key: 0 });
  const client = useQueryClient();
  const { save, conflict } = useVersionedSave<OrganizationSettings, Change>({
    read: () => client.fetchQuery({ ...settingsQuery, staleTime: 0 }),
    write: (body, etag) =>
      readWithEtag((options) => organizationUpdate({ body, headers: { 'If-Match': etag }, ...options })),
    labels,
  });
  return (
    <Panel title={title}>
      <Form
        key={key}
        submit="Save"
        onSubmit={async (values) => {
          const change = changeOf(values);
          return { change, saved: await save(change, base) };
        }}
        onDone={({ change, saved: { current, isMine } }) => {
          // The form is rebuilt only if the saved settings differ from the displayed values.
          const shows: OrganizationSettings = { ...base, ...change };
          const isShown = (Object.keys(labels) as (keyof Change)[]).every((name) => current[name] === shows[name]);
          setState({ base: current, key: isShown ? key : key + 1 });
          client.setQueryData(settingsQuery.queryKey, current);
          void client.invalidateQueries({ queryKey: ['usage'] });
          showToast(isMine ? 'Saved.' : 'Your change was not saved.');
        }}
      >
        {children(base)}
      </Form>
      {conflict}
    </Panel>
  );
}

function ReadOnlySettings({ title, labels, settings }: Loaded) {
  const names = Object.keys(labels) as (keyof Change)[];
  return (
    <Panel title={title}>
      <FactList facts={names.map((name) => [labels[name]!, formatSetting(settings[name])])} />
    </Panel>
  );
}

function formatSetting(value: string | number | boolean | null): string {
  if (value === null) return 'no limit';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return String(value);
}
