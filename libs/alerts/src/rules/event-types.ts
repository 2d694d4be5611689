import type { AlertRuleName } from '@muster/contracts';

/** Types of the webhook events that a rule evaluates. The rules without types follow from a state; see `conditions`. */
const types: Partial<Record<AlertRuleName, string[]>> = {
  run_failed: ['job.failed', 'job.completed'],
  schedule_missed: ['schedule.skipped', 'schedule.failed'],
  wake_failed: ['agent.wake_failed'],
  account_set_aside: ['account.set_aside'],
};

export function getEventTypesOfRule(rule: AlertRuleName): string[] {
  return types[rule] ?? [];
}

const rules = new Map(
  Object.entries(types).flatMap(([rule, names]) => names.map((name) => [name, rule as AlertRuleName] as const)),
);

/** Returns the rule that evaluates events of the type; undefined if none does. */
export function getRuleOfEventType(type: string): AlertRuleName | undefined {
  return rules.get(type);
}
