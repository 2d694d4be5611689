import { useQuery } from '@tanstack/react-query';
import { useId, useState } from 'react';
import type { Schedule, UpdateScheduleBody } from '../../api/generated';
import { buildWorkflowQuery } from '../../api/queries';
import { settingsQuery } from '../../api/session';
import type { Values } from '../../ui/form';
import { SelectField, TextField } from '../../ui/form';
import { AccountsField, readAccounts } from '../guards/accounts';
import { ConcurrencyKeysField, readConcurrencyKeys } from '../guards/concurrency-keys';
import { WorkflowField } from '../pickers';
import { AgentOrTargetFields, readAgentOrTarget } from '../placement/place-fields';
import { CronPreview, useCronPreview } from './cron-preview';

const misfires = [
  { value: 'once', label: 'Run once, for the newest' },
  { value: 'skip', label: 'Skip them' },
  { value: 'all', label: 'Run all of them, at most 100' },
];

interface ScheduleFieldsProps {
  schedule?: Schedule;
  /** Initial workflow of a new schedule; its name is the initial name of the schedule. */
  workflow?: { id: string; name: string };
}

/** All fields of a schedule, for a new one and for changes. */
export function ScheduleFields({ schedule, workflow: initial }: ScheduleFieldsProps) {
  const { data: settings } = useQuery(settingsQuery);
  const [cron, setCron] = useState(schedule?.cronExpression ?? '0 6 * * *');
  const [timezone, setTimezone] = useState(schedule?.timezone);
  const [workflowId, setWorkflowId] = useState(schedule?.scriptId ?? initial?.id ?? '');
  const { data: workflow } = useQuery({ ...buildWorkflowQuery(workflowId), enabled: workflowId !== '' });
  const variables = workflowId === '' ? [] : (workflow?.variables ?? []);
  const zone = timezone ?? settings?.timezone ?? 'UTC';
  const previewId = useId();
  const facts = useCronPreview(cron.trim(), zone.trim());
  const getFaultAttributes = (field: string) =>
    facts.fault?.field === field ? { 'aria-invalid': true, 'aria-describedby': previewId } : {};
  return (
    <>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={200}
        defaultValue={schedule?.name ?? initial?.name}
        autoComplete="off"
      />
      <WorkflowField name="scriptId" choose={setWorkflowId} initial={schedule?.scriptId ?? initial?.id} />
      {variables.map((name) => (
        <TextField
          key={name}
          label={name}
          name={`variables.${name}`}
          defaultValue={schedule?.variables[name]}
          autoComplete="off"
        />
      ))}
      <AgentOrTargetFields workflowId={workflowId} agentId={schedule?.agentId ?? undefined} target={schedule?.target} />
      <TextField
        label="Cron expression"
        name="cronExpression"
        required
        value={cron}
        onChange={({ target }) => setCron(target.value)}
        {...getFaultAttributes('cronExpression')}
        hint="Minute, hour, day of the month, month, day of the week."
        autoComplete="off"
      />
      <TextField
        label="Timezone"
        name="timezone"
        required
        value={zone}
        onChange={({ target }) => setTimezone(target.value)}
        {...getFaultAttributes('timezone')}
        autoComplete="off"
      />
      <CronPreview id={previewId} facts={facts} />
      <details open={Boolean(schedule)}>
        <summary className="font-medium">Guards and limits</summary>
        <div className="mt-3 grid gap-3.5 sm:grid-cols-2">
          <GuardFields schedule={schedule} />
        </div>
      </details>
    </>
  );
}

function GuardFields({ schedule }: { schedule?: Schedule }) {
  const number = { type: 'number', min: 0, step: 1 } as const;
  return (
    <>
      <TextField
        {...number}
        label="Runs at once"
        name="concurrencyLimit"
        min={1}
        hint="A scheduled time is skipped while this number of runs is queued or running. Empty: no limit."
        defaultValue={schedule?.concurrencyLimit ?? ''}
      />
      <TextField
        {...number}
        label="Minutes between runs"
        name="idempotencyWindowMinutes"
        hint="A scheduled time is skipped if a run was launched within this many minutes before it."
        defaultValue={schedule?.idempotencyWindowMinutes ?? ''}
      />
      <TextField
        {...number}
        label="Maximum run time in minutes"
        name="maxRuntimeMinutes"
        min={1}
        max={1320}
        required
        defaultValue={schedule?.maxRuntimeMinutes ?? 720}
      />
      <TextField {...number} label="Retries" name="maxRetries" required defaultValue={schedule?.maxRetries ?? 0} />
      <TextField
        {...number}
        label="Seconds before a retry"
        name="retryDelaySeconds"
        required
        defaultValue={schedule?.retryDelaySeconds ?? 60}
      />
      <SelectField
        label="Missed times"
        name="misfirePolicy"
        defaultValue={schedule?.misfirePolicy ?? 'once'}
        options={misfires}
      />
      <TextField
        {...number}
        step="any"
        label="Cost limit per run"
        name="maxCostUsd"
        hint="In US dollars. Empty: no limit."
        defaultValue={schedule?.maxCostUsd ?? ''}
      />
      <TextField
        label="Vault keys"
        name="vaultKeys"
        hint="Names of the vault secrets that the run receives, separated by commas."
        defaultValue={schedule?.vaultKeys.join(', ')}
        autoComplete="off"
      />
      <ConcurrencyKeysField
        initial={schedule?.concurrencyKeys}
        hint="These keys are in addition to those of the workflow. A run waits until each key is below its limit."
      />
      <AccountsField
        initial={schedule?.accounts}
        hint="These accounts are in addition to those of the workflow. A run waits until each pool has a free account."
      />
    </>
  );
}

/** Reads the fields of a schedule. */
export function parseScheduleForm(values: Values) {
  const readNumber = (name: string) => values.readNumber(name) ?? 0;
  return {
    name: values.readText('name'),
    scriptId: values.readText('scriptId'),
    ...readAgentOrTarget(values),
    cronExpression: values.readText('cronExpression'),
    timezone: values.readText('timezone'),
    variables: values.readTexts('variables.'),
    vaultKeys: values
      .readText('vaultKeys')
      .split(/[\s,]+/)
      .filter(Boolean),
    maxRuntimeMinutes: readNumber('maxRuntimeMinutes'),
    maxRetries: readNumber('maxRetries'),
    retryDelaySeconds: readNumber('retryDelaySeconds'),
    concurrencyLimit: values.readNumber('concurrencyLimit'),
    idempotencyWindowMinutes: values.readNumber('idempotencyWindowMinutes'),
    misfirePolicy: values.readText('misfirePolicy') as 'once' | 'skip' | 'all',
    maxCostUsd: values.readNumber('maxCostUsd'),
    concurrencyKeys: readConcurrencyKeys(values),
    accounts: readAccounts(values),
  } satisfies UpdateScheduleBody;
}
