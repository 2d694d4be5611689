import { UsageBars } from '../../parts/usage-bars';
import { TextField } from '../../ui/form';
import { type SettingLabels, SettingsForm } from './settings-form';

const labels = {
  monthlyRunLimit: 'Monthly run limit',
  monthlySpendLimitUsd: 'Monthly spend limit (USD)',
  maxConcurrentRuns: 'Maximum concurrent runs',
} as const satisfies SettingLabels;

/** The monthly limits and how much of each is used. */
export function UsageLimits() {
  return (
    <div className="flex flex-col gap-4">
      <UsageBars />
      <SettingsForm
        title="Limits"
        labels={labels}
        changeOf={(values) => ({
          monthlyRunLimit: values.readNumber('monthlyRunLimit'),
          monthlySpendLimitUsd: values.readNumber('monthlySpendLimitUsd'),
          maxConcurrentRuns: values.readNumber('maxConcurrentRuns'),
        })}
      >
        {(settings) => (
          <>
            <TextField
              label={labels.monthlyRunLimit}
              name="monthlyRunLimit"
              type="number"
              min={0}
              defaultValue={settings.monthlyRunLimit ?? ''}
              hint="Empty: no limit."
            />
            <TextField
              label={labels.monthlySpendLimitUsd}
              name="monthlySpendLimitUsd"
              type="number"
              min={0}
              step="any"
              defaultValue={settings.monthlySpendLimitUsd ?? ''}
              hint="Empty: no limit."
            />
            <TextField
              label={labels.maxConcurrentRuns}
              name="maxConcurrentRuns"
              type="number"
              min={1}
              defaultValue={settings.maxConcurrentRuns ?? ''}
              hint="Empty: no limit."
            />
          </>
        )}
      </SettingsForm>
    </div>
  );
}
