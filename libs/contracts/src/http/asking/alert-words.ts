import type { Severity } from '../webhooks/webhook-words';

/** Alert rules that every organization has; each is on or off. */
export const alertRules = [
  'run_failed',
  'run_waiting',
  'question_asked',
  'question_expiring',
  'schedule_missed',
  'agent_offline',
  'wake_failed',
  'machine_on_without_reason',
  'spend',
  'account_set_aside',
  'webhook_disabled',
  'dead_letter',
] as const;
export type AlertRuleName = (typeof alertRules)[number];

export const alertStatuses = ['open', 'resolved'] as const;
export type AlertStatus = (typeof alertStatuses)[number];

/** Kinds of resources that an alert can be about. */
export const alertSubjectTypes = [
  'workflow',
  'job',
  'question',
  'schedule',
  'agent',
  'limit',
  'account',
  'webhook_endpoint',
  'notification_channel',
  'queue',
] as const;
export type AlertSubjectType = (typeof alertSubjectTypes)[number];

/** Which failed runs the rule run_failed reports: the first after a success, each one, or several in a row. */
export const runFailedModes = ['first', 'every', 'in_a_row'] as const;
export type RunFailedMode = (typeof runFailedModes)[number];

/** Options of a rule; each rule has only some of them. */
export interface AlertOptions {
  when?: RunFailedMode;
  times?: number;
  minutes?: number;
  hours?: number;
  percent?: number;
}

/** Title of each rule in messages and on pages, and the severity of its alerts. */
export const alertTitles: Record<AlertRuleName, { title: string; severity: Severity }> = {
  run_failed: { title: 'Run failed', severity: 'error' },
  run_waiting: { title: 'Run waits too long', severity: 'warning' },
  question_asked: { title: 'A run asks a question', severity: 'warning' },
  question_expiring: { title: 'Question expires soon', severity: 'warning' },
  schedule_missed: { title: 'Scheduled run missed', severity: 'warning' },
  agent_offline: { title: 'Machine offline with work', severity: 'error' },
  wake_failed: { title: 'Machine could not be started', severity: 'error' },
  machine_on_without_reason: { title: 'Machine on without a reason', severity: 'warning' },
  spend: { title: 'Spend near its limit', severity: 'warning' },
  account_set_aside: { title: 'Account set aside', severity: 'warning' },
  webhook_disabled: { title: 'Webhook endpoint turned off', severity: 'error' },
  dead_letter: { title: 'Message failed permanently', severity: 'error' },
};
