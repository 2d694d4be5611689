import { CheckField, TextField } from '../../../ui/form';
import { usePermission } from '../../../api/session';
import { ScimSettings } from './scim';
import { SsoSettings } from './sso';
import { type SettingLabels, SettingsForm } from '../settings-form';

const labels = {
  sessionIdleMinutes: 'Session idle timeout (minutes)',
  apiKeyMaxDays: 'Maximum API key lifetime (days)',
  requireSecondFactor: 'Require a second factor',
} as const satisfies SettingLabels;

/** Session timeout, maximum lifetime of API keys, the second factor requirement, and for admins single sign-on and user provisioning. */
export function SignIn() {
  const isAdmin = usePermission('settings.admin');
  return (
    <>
      <SessionSettings />
      {isAdmin && (
        <>
          <SsoSettings />
          <ScimSettings />
        </>
      )}
    </>
  );
}

function SessionSettings() {
  return (
    <SettingsForm
      title="Sign-in"
      labels={labels}
      changeOf={(values) => ({
        sessionIdleMinutes: values.readNumber('sessionIdleMinutes') ?? undefined,
        apiKeyMaxDays: values.readNumber('apiKeyMaxDays'),
        requireSecondFactor: values.readFlag('requireSecondFactor'),
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
            hint="A user who does nothing for this time is signed out. From 5 to 1,440 minutes. Every session ends after 12 hours, even if it is in use."
          />
          <TextField
            label={labels.apiKeyMaxDays}
            name="apiKeyMaxDays"
            type="number"
            min={1}
            max={3650}
            defaultValue={settings.apiKeyMaxDays ?? ''}
            hint="Empty: no limit. Applies to new keys."
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
