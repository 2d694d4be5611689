import type { Permission } from './permissions';

type OwnRolePermission = Exclude<Permission, 'platform.admin' | 'work.report'>;

/**
 * The texts of the console's page Roles, by group: the operations that each permission allows. They are apart from the
 * permissions because every page of the console loads those.
 */
export const permissionLabels: Record<OwnRolePermission, { group: string; label: string }> = {
  'runs.read': { group: 'Runs', label: 'See runs with their steps, logs, results, files and questions' },
  'runs.write': { group: 'Runs', label: 'Start, cancel and delete runs, and answer their questions' },
  'runs.screens': { group: 'Runs', label: 'Watch the browsers of runs, see sealed values, and analyze recordings' },
  'workflows.read': { group: 'Workflows', label: 'See workflows, their scripts and functions' },
  'workflows.write': { group: 'Workflows', label: 'Change workflows and functions' },
  'packs.read': { group: 'Workflows', label: 'See workflow packs and their installations' },
  'packs.write': { group: 'Workflows', label: 'Change workflow packs and their installations' },
  'packs.release': { group: 'Workflows', label: 'Release pack versions to production, and withdraw them' },
  'schedules.read': { group: 'Schedules', label: 'See schedules' },
  'schedules.write': { group: 'Schedules', label: 'Change schedules and run them now' },
  'agents.read': { group: 'Agents', label: 'See agents, their commands and autopilot sessions' },
  'agents.control': { group: 'Agents', label: 'Start and stop agents, and run commands and autopilot' },
  'agents.admin': { group: 'Agents', label: 'Create, rename and terminate agents' },
  'assistant.use': { group: 'Agents', label: 'Chat with the assistant' },
  'alerts.read': { group: 'Alerts', label: 'See alerts and their rules' },
  'alerts.write': { group: 'Alerts', label: 'Acknowledge alerts' },
  'costs.read': { group: 'Costs', label: 'See costs, usage, prices and returns' },
  'pricing.write': { group: 'Costs', label: 'Change prices, and see billing records' },
  'feedback.read': { group: 'Feedback', label: 'See their own feedback' },
  'feedback.write': { group: 'Feedback', label: 'Send feedback' },
  'feedback.admin': { group: 'Feedback', label: 'See and decide all feedback' },
  'vault.write': { group: 'Organization', label: 'Manage secrets, accounts and received codes' },
  'keys.admin': { group: 'Organization', label: 'Manage API keys, and see the signing secret' },
  'users.admin': { group: 'Organization', label: 'Manage users, invitations and roles' },
  'settings.admin': {
    group: 'Organization',
    label: 'Change settings, limits, alert rules and the model, and replay dead letters',
  },
  'webhooks.admin': {
    group: 'Organization',
    label: 'Manage webhooks and notification channels, and see what they send',
  },
  'audit.read': { group: 'Organization', label: 'See the audit trail and the access log' },
};
