import { useQuery } from '@tanstack/react-query';
import { type OrganizationSettings, organizationSigningSecret } from '../../api/generated';
import { usePermission, useCurrentUser } from '../../api/session';
import { Button } from '../../ui/button';
import { CopyText } from '../../ui/copy-text';
import { ErrorNote } from '../../ui/error-note';
import { CheckField, SelectField, TextField } from '../../ui/form';
import { FactList, Panel } from '../../ui/page';
import { Savings } from './savings';
import { type SettingLabels, SettingsForm } from './settings-form';

const labels = {
  timezone: 'Timezone',
  vmAutoWakeOnJob: 'Start a stopped machine when a run needs it',
  prewake: 'Start machines before their schedules are due',
  autoStopEnabled: 'Stop idle machines',
  idleStopMinutes: 'Idle minutes before a stop',
  idleStopPolicy: 'Idle stop policy',
  failStalledRuns: 'Fail runs that stop reporting progress',
  hourlyComputeUsd: 'Machine cost (USD per hour)',
  laborRateUsdPerHour: 'Labor rate (USD per hour)',
  minutesSavedPerClaim: 'Minutes saved per claim',
  logRetentionDays: 'Run log retention (days)',
  timelineRetentionDays: 'Timeline retention (days)',
  stepRetentionDays: 'Step retention (days)',
  claimRetentionDays: 'Individual claim retention (days)',
  usageRetentionDays: 'Usage retention (days)',
  costRetentionDays: 'Cost component retention (days)',
} as const satisfies SettingLabels;
const retentions = [
  'logRetentionDays',
  'timelineRetentionDays',
  'stepRetentionDays',
  'claimRetentionDays',
  'usageRetentionDays',
  'costRetentionDays',
] as const;
const money = ['hourlyComputeUsd', 'laborRateUsdPerHour', 'minutesSavedPerClaim'] as const;
const sectionClass = 'flex flex-col gap-3.5 border-t border-line pt-3.5';

/** Settings for the time zone, for starting and stopping machines, for the savings estimate and for retention. */
export function OrganizationPart() {
  const { organization } = useCurrentUser();
  const seesSecret = usePermission('keys.admin');
  return (
    <div className="flex flex-col gap-4">
      <Panel title="Name">
        <FactList
          facts={[
            ['Name', <bdi>{organization.name}</bdi>],
            ['Id', <code className="font-mono text-xs break-all">{organization.id}</code>],
          ]}
        />
      </Panel>
      <SettingsForm
        title="Organization"
        labels={labels}
        changeOf={(values) => ({
          timezone: values.readText('timezone'),
          vmAutoWakeOnJob: values.readFlag('vmAutoWakeOnJob'),
          prewake: values.readFlag('prewake'),
          autoStopEnabled: values.readFlag('autoStopEnabled'),
          idleStopMinutes: values.readNumber('idleStopMinutes') ?? undefined,
          idleStopPolicy: values.readText('idleStopPolicy') as OrganizationSettings['idleStopPolicy'],
          failStalledRuns: values.readFlag('failStalledRuns'),
          ...Object.fromEntries(money.map((name) => [name, values.readNumber(name) ?? undefined])),
          ...Object.fromEntries(retentions.map((name) => [name, values.readNumber(name)])),
        })}
      >
        {(settings) => <OrganizationFields settings={settings} />}
      </SettingsForm>
      {seesSecret && <SigningSecret />}
    </div>
  );
}

function OrganizationFields({ settings }: { settings: OrganizationSettings }) {
  return (
    <>
      <TextField
        label={labels.timezone}
        name="timezone"
        defaultValue={settings.timezone}
        required
        list="timezones"
        hint="Time zone of the days in cost, usage and savings reports, and of schedules without their own."
      />
      <datalist id="timezones">
        {Intl.supportedValuesOf('timeZone').map((zone) => (
          <option key={zone} value={zone} />
        ))}
      </datalist>
      <section aria-labelledby="machines" className={sectionClass}>
        <h3 id="machines" className="font-semibold">
          Machines
        </h3>
        <CheckField label={labels.vmAutoWakeOnJob} name="vmAutoWakeOnJob" initial={settings.vmAutoWakeOnJob} />
        <CheckField label={labels.prewake} name="prewake" initial={settings.prewake} />
        <CheckField label={labels.autoStopEnabled} name="autoStopEnabled" initial={settings.autoStopEnabled} />
        <TextField
          label={labels.idleStopMinutes}
          name="idleStopMinutes"
          type="number"
          min={0.05}
          step="any"
          defaultValue={settings.idleStopMinutes}
          required
        />
        <SelectField
          label={labels.idleStopPolicy}
          name="idleStopPolicy"
          defaultValue={settings.idleStopPolicy}
          options={[
            { value: 'fixed', label: 'fixed: after the idle minutes' },
            { value: 'adaptive', label: 'adaptive: sooner if that costs less' },
          ]}
          hint={<Savings />}
        />
        <CheckField label={labels.failStalledRuns} name="failStalledRuns" initial={settings.failStalledRuns} />
      </section>
      <section aria-labelledby="worth" className={sectionClass}>
        <h3 id="worth" className="font-semibold">
          Savings estimate
        </h3>
        {money.map((name) => (
          <TextField
            key={name}
            label={labels[name]}
            name={name}
            type="number"
            min={0}
            step="any"
            defaultValue={settings[name]}
            required
          />
        ))}
      </section>
      <section aria-labelledby="retention" className={sectionClass}>
        <h3 id="retention" className="font-semibold">
          Retention
        </h3>
        <p className="text-xs text-dim">
          If a field is empty, its data is never deleted. Totals and the audit log are never deleted.
        </p>
        {retentions.map((name) => (
          <TextField
            key={name}
            label={labels[name]}
            name={name}
            type="number"
            min={1}
            defaultValue={settings[name] ?? ''}
          />
        ))}
      </section>
    </>
  );
}

/** The secret that signs callbacks and calls. It is loaded only on request and never cached. */
function SigningSecret() {
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['signing-secret'],
    queryFn: ({ signal }) => organizationSigningSecret({ signal }),
    enabled: false,
    gcTime: 0,
  });
  return (
    <Panel title="Signing secret">
      {error && <ErrorNote error={error} retry={() => void refetch()} />}
      {data ? (
        <CopyText label="Signing secret (x-service-signature)" text={data.signingSecret} />
      ) : (
        <Button busy={isFetching} onClick={() => void refetch()}>
          Show signing secret
        </Button>
      )}
    </Panel>
  );
}
