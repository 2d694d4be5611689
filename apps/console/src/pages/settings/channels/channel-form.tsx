import { type ChannelKind, channelKinds, severities } from '@muster/contracts/words';
import { useState } from 'react';
import {
  type CreateNotificationChannelBody,
  type NotificationChannel,
  notificationChannelsCreate,
  notificationChannelsUpdate,
} from '../../../api/generated';
import { useWorkflowChoices } from '../../../parts/pickers';
import { EventsField } from '../../../parts/webhooks/events-field';
import { Dialog } from '../../../ui/dialog';
import { Form, SelectField, TextAreaField, TextField, type Values } from '../../../ui/form';
import { showToast } from '../../../ui/toast';
import { kindLabels } from './channel-texts';

type Filter = NonNullable<CreateNotificationChannelBody['filter']>;

interface ChannelFormProps {
  /** Null for a new channel. */
  channel: NotificationChannel | null;
  close: () => void;
  /** Called with the secret of a new webhook channel, otherwise with null. */
  saved: (secret: string | null) => void;
}

/** Creates or changes a notification channel: its name, target, events and filter. */
export function ChannelForm({ channel, close, saved }: ChannelFormProps) {
  const [kind, setKind] = useState<ChannelKind>(channel?.kind ?? 'email');
  const [receivesAll, setReceivesAll] = useState(channel?.events.includes('*') ?? false);
  return (
    <Dialog open onOpenChange={close} title={channel ? 'Change channel' : 'New channel'}>
      <Form
        submit={channel ? 'Save' : 'Create channel'}
        onSubmit={async (values): Promise<string | null> => {
          const url = values.readText('target.url');
          const body = {
            name: values.readText('name'),
            events: (receivesAll ? ['*'] : values.readAll('events')) as CreateNotificationChannelBody['events'],
            filter: readFilter(values),
          };
          const target = kind === 'email' ? { to: splitLines(values.readText('target.to')) } : { url };
          if (!channel) return (await notificationChannelsCreate({ body: { ...body, kind, target } })).secret;
          // An empty address keeps the stored one, which is not shown.
          const keepsTarget = kind !== 'email' && !url;
          await notificationChannelsUpdate({
            path: { id: channel.id },
            body: { ...body, ...(keepsTarget ? {} : { target }) },
          });
          return null;
        }}
        onDone={(secret) => {
          saved(secret);
          showToast(channel ? 'The channel was changed.' : 'The channel was created.');
          close();
        }}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={100}
          autoComplete="off"
          defaultValue={channel?.name ?? ''}
        />
        {!channel && (
          <SelectField
            label="Kind"
            name="kind"
            value={kind}
            options={channelKinds.map((value) => ({ value, label: kindLabels[value] }))}
            onChange={({ target }) => setKind(target.value as ChannelKind)}
          />
        )}
        <TargetField kind={kind} channel={channel} />
        <EventsField
          initial={channel?.events ?? initialEvents}
          receivesAll={receivesAll}
          setReceivesAll={setReceivesAll}
        />
        <FilterFields filter={channel?.filter ?? null} />
      </Form>
    </Dialog>
  );
}

function TargetField({ kind, channel }: { kind: ChannelKind; channel: NotificationChannel | null }) {
  if (kind === 'email') {
    return (
      <TextAreaField
        label="Recipients"
        name="target.to"
        required
        rows={3}
        defaultValue={channel?.target.to?.join('\n') ?? ''}
        hint="One e-mail address per line. Each recipient gets a separate message."
      />
    );
  }
  const isSecret = kind !== 'webhook';
  return (
    <TextField
      label="Address"
      name="target.url"
      type="url"
      required={!channel || !isSecret}
      maxLength={2048}
      autoComplete="off"
      defaultValue={channel?.target.url ?? ''}
      hint={
        isSecret
          ? `The address of an incoming webhook in ${kindLabels[kind]}. It is a secret and is not shown again.` +
            (channel ? ' Leave it empty to keep the current one.' : '')
          : 'A public http or https address. Deliveries are signed with a secret that is shown once.'
      }
    />
  );
}

/** Events of a new channel: those that need a person. */
const initialEvents: readonly string[] = ['job.failed', 'question.asked'];

function FilterFields({ filter }: { filter: Filter | null }) {
  const { data: workflows = [] } = useWorkflowChoices();
  const chosen = filter?.workflowIds ?? [];
  const missing = chosen.filter((id) => !workflows.some((workflow) => workflow.id === id));
  const options = [...workflows, ...missing.map((id) => ({ id, name: id }))];
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 font-medium">Filter</legend>
      <p className="text-xs text-dim">An event or alert must match every part that is set.</p>
      <SelectField
        label="Severity"
        name="severity"
        defaultValue={filter?.severity ?? ''}
        options={[
          { value: '', label: 'all' },
          ...severities
            .filter((severity) => severity !== 'info')
            .map((severity) => ({ value: severity, label: severity === 'error' ? 'errors' : 'warnings and errors' })),
        ]}
      />
      <TextField
        label="Machine labels"
        name="labels"
        autoComplete="off"
        defaultValue={filter?.labels?.join(', ') ?? ''}
        hint="Separated by commas. Only events of machines with one of these labels, and of runs on them."
      />
      {options.length > 0 && (
        <details open={chosen.length > 0}>
          <summary className="cursor-pointer">Only certain workflows</summary>
          <div className="mt-1.5 flex max-h-40 flex-col gap-1.5 overflow-y-auto">
            {options.map(({ id, name }) => (
              <Check key={id} name="workflowIds" value={id} label={name} initial={chosen.includes(id)} />
            ))}
          </div>
        </details>
      )}
    </fieldset>
  );
}

function Check({ label, initial, ...field }: { name: string; value: string; label: string; initial: boolean }) {
  return (
    <label className="flex items-center gap-2">
      <input type="checkbox" {...field} className="size-4 shrink-0" defaultChecked={initial} />
      <bdi className="min-w-0 [overflow-wrap:anywhere]">{label}</bdi>
    </label>
  );
}

/** Returns null if no part of the filter is set. */
function readFilter(values: Values): Filter | null {
  const workflowIds = values.readAll('workflowIds');
  const labels = splitLines(values.readText('labels'));
  const severity = severities.find((each) => each === values.readText('severity'));
  const filter: Filter = {
    ...(workflowIds.length > 0 ? { workflowIds } : {}),
    ...(labels.length > 0 ? { labels } : {}),
    ...(severity ? { severity } : {}),
  };
  return Object.keys(filter).length > 0 ? filter : null;
}

/** Splits a text at commas and line breaks. */
function splitLines(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((each) => each.trim())
    .filter(Boolean);
}
