import { alertTitles, runFailedModes } from '@muster/contracts/words';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type AlertRule, alertRulesSet, type NotificationChannel } from '../../../api/generated';
import { Dialog } from '../../../ui/dialog';
import { CheckField, Form, SelectField, TextField } from '../../../ui/form';
import { EmptyNote } from '../../../ui/page';
import { showToast } from '../../../ui/toast';

export const modeLabels: Record<(typeof runFailedModes)[number], string> = {
  first: 'The first failed run after a completed one',
  every: 'Every failed run',
  in_a_row: 'Several failed runs in a row',
};

interface RuleFormProps {
  rule: AlertRule;
  channels: NotificationChannel[];
  close: () => void;
  /** Called after the rule was changed. */
  changed: () => void;
}

/** Changes an alert rule: whether the rule is on, its options and its channels. */
export function RuleForm({ rule, channels, close, changed }: RuleFormProps) {
  const [when, setWhen] = useState(rule.when);
  const { title } = alertTitles[rule.rule];
  return (
    <Dialog open onOpenChange={close} title={title}>
      <Form
        submit="Save"
        onSubmit={(values) => {
          const readNumberField = (name: 'times' | 'minutes' | 'hours' | 'percent') => {
            const value = values.readNumber(name);
            return value === null ? {} : { [name]: value };
          };
          return alertRulesSet({
            path: { rule: rule.rule },
            body: {
              enabled: values.readFlag('enabled'),
              channelIds: values.readAll('channelIds'),
              ...(when ? { when } : {}),
              ...{
                ...readNumberField('times'),
                ...readNumberField('minutes'),
                ...readNumberField('hours'),
                ...readNumberField('percent'),
              },
            },
          });
        }}
        onDone={() => {
          showToast('The alert rule was changed.');
          changed();
          close();
        }}
      >
        <CheckField label="On" name="enabled" initial={rule.enabled} />
        {when && (
          <SelectField
            label="When"
            name="when"
            value={when}
            options={runFailedModes.map((value) => ({ value, label: modeLabels[value] }))}
            onChange={({ target }) => setWhen(runFailedModes.find((mode) => mode === target.value))}
          />
        )}
        {when === 'in_a_row' && (
          <NumberField label="Failed runs" name="times" min={2} max={100} value={rule.times ?? 3} />
        )}
        {rule.minutes !== undefined && (
          <NumberField label="Minutes" name="minutes" min={1} max={10_080} value={rule.minutes} />
        )}
        {rule.hours !== undefined && <NumberField label="Hours" name="hours" min={1} max={720} value={rule.hours} />}
        {rule.percent !== undefined && (
          <NumberField label="Percent" name="percent" min={1} max={100} value={rule.percent} />
        )}
        <fieldset className="flex flex-col gap-1.5">
          <legend className="mb-1 font-medium">Channels</legend>
          {channels.length === 0 && (
            <EmptyNote title="No notification channels yet.">
              Create one under{' '}
              <Link to="/settings" search={{ part: 'Channels' }} className="text-accent underline">
                Channels
              </Link>
              . Without channels, alerts only appear in the inbox.
            </EmptyNote>
          )}
          {channels.map(({ id, name, kind }) => (
            <label key={id} className="flex items-center gap-2">
              <input
                type="checkbox"
                name="channelIds"
                value={id}
                className="size-4 shrink-0"
                defaultChecked={rule.channelIds.includes(id)}
              />
              <bdi>{name}</bdi> <span className="text-dim">{kind}</span>
            </label>
          ))}
        </fieldset>
      </Form>
    </Dialog>
  );
}

function NumberField({ value, ...field }: { label: string; name: string; min: number; max: number; value: number }) {
  return <TextField {...field} type="number" required defaultValue={value} />;
}
