import { type AlertOptions, type AlertRuleName, invalidFieldError, type SetAlertRuleBody } from '@muster/contracts';

/** Number of failed runs for run_failed with `when` in_a_row, if the request has none. */
const defaultTimes = 3;

/** The options of each rule with their defaults. A rule has no other options. */
const defaults: Record<AlertRuleName, AlertOptions> = {
  run_failed: { when: 'first' },
  run_waiting: { minutes: 15 },
  question_asked: {},
  question_expiring: { minutes: 5 },
  schedule_missed: {},
  agent_offline: {},
  wake_failed: {},
  machine_on_without_reason: { hours: 2 },
  spend: { percent: 80 },
  account_set_aside: {},
  webhook_disabled: {},
  dead_letter: {},
};

const optionNames = ['when', 'times', 'minutes', 'hours', 'percent'] as const;

/** Returns the options of a rule whose settings are the defaults. */
export function getDefaultOptions(rule: AlertRuleName): AlertOptions {
  return defaults[rule];
}

/** Returns the options that a request sets, with defaults. Throws if an option does not belong to the rule. */
export function parseRuleOptions(rule: AlertRuleName, body: SetAlertRuleBody): AlertOptions {
  const options = { ...defaults[rule] };
  for (const name of optionNames) {
    const value = body[name];
    if (value === undefined) continue;
    if (name === 'times' ? rule !== 'run_failed' : !(name in options)) {
      throw invalidFieldError(name, `${name} is not an option of the rule ${rule}`);
    }
    Object.assign(options, { [name]: value });
  }
  if (options.when === 'in_a_row') return { ...options, times: options.times ?? defaultTimes };
  if (options.times !== undefined) throw invalidFieldError('times', 'times requires when to be in_a_row');
  return options;
}
