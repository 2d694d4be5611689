import { CheckField, TextField } from '../../ui/form';
import { type SettingLabels, SettingsForm } from './settings-form';

const labels = {
  sessionIdleMinutes: 'Minutes without use after which a session ends',
  apiKeyMaxDays: 'Days after which a new API key expires at the latest',
  requireSecondFactor: 'Everybody needs a second factor',
} as const satisfies SettingLabels;

/** How long people stay signed in, and keys work. */
export function SignIn() {
  return (
    <SettingsForm
      title="Sign-in"
      labels={labels}
      changeOf={(values) => ({
        sessionIdleMinutes: values.number('sessionIdleMinutes') ?? undefined,
        apiKeyMaxDays: values.number('apiKeyMaxDays'),
        requireSecondFactor: values.flag('requireSecondFactor'),
      })}
    >
      {(settings) => (
        <>
          <TextField
            label={labels.sessionIdleMinutes}
            name="sessionIdleMinutes"
            type="number"
            min={5}
            max={1440}
            defaultValue={settings.sessionIdleMinutes}
            required
            hint="From 5 minutes to a day. After 12 hours a session ends anyway."
          />
          <TextField
            label={labels.apiKeyMaxDays}
            name="apiKeyMaxDays"
            type="number"
            min={1}
            max={3650}
            defaultValue={settings.apiKeyMaxDays ?? ''}
            hint="Empty: keys need not expire."
          />
          <CheckField
            label={labels.requireSecondFactor}
            name="requireSecondFactor"
            initial={settings.requireSecondFactor}
          />
        </>
      )}
    </SettingsForm>
  );
}
