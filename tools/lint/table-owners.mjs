// The lib that owns each table, as data. Only this lib writes the table. ESLint's rule foreign-writes uses it, and the
// repository check compares it with the entities and with each owner's README.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const entities = 'libs/database/src/entities';

/** The tables of each lib, in the order of its README. */
const tablesOf = {
  database: ['outbox', 'queue_probe', 'loop_run', 'organization_event', 'recovery_hold'],
  access: [
    ...['organization', 'organization_settings', 'app_user', 'user_session', 'sign_in_address', 'api_key'],
    ...['second_factor', 'sign_in_ticket', 'passkey', 'passkey_challenge', 'device_login', 'account_link', 'own_role'],
    ...['organization_sso', 'organization_domain', 'sso_sign_in', 'sso_link'],
    ...['scim_token', 'scim_user', 'scim_group', 'scim_group_member'],
    ...[
      'vault_secret',
      'value_key',
      'audit_entry',
      'access_entry',
      'audit_chain',
      'audit_day',
      'audit_link',
      'idempotency_key',
    ],
  ],
  machines: ['agent', 'agent_control', 'agent_wake', 'agent_idle', 'agent_recovery', 'machine_finding'],
  commands: ['agent_command', 'agent_function', 'artifact', 'recording', 'object_removal'],
  timeline: ['timeline_head', 'timeline_entry'],
  workflows: ['workflow', 'workflow_revision'],
  packs: [
    ...['library_process', 'workflow_pack', 'pack_bundle', 'runtime_bundle', 'pack_upload'],
    ...['pack_version', 'pack_version_move', 'pack_installation', 'pack_installation_move'],
  ],
  jobs: [
    'job',
    'job_step',
    'ai_usage',
    'claim_outcome',
    'job_log_seen',
    'batch',
    'deleted_job',
    'question',
    'inbound_code',
    'inbound_message',
    'concurrency_lease',
    'concurrency_limit',
    'account',
    'account_use',
  ],
  schedules: ['schedule', 'schedule_run'],
  pricing: [
    ...['run_cost', 'run_cost_component', 'model_price', 'default_model_price', 'default_price_list', 'cost_recompute'],
    ...['run_cost_day', 'run_cost_month', 'run_cost_change', 'run_cost_state', 'model_call', 'organization_model'],
    ...[
      'usage_event',
      'usage_counter',
      'usage_reconciliation',
      'limit_notice',
      'client_pricing_model',
      'billing_metric',
      'billing_metric_step',
    ],
  ],
  assistant: [
    ...['chat_session', 'chat_turn', 'chat_call'],
    ...['autopilot_session', 'autopilot_step', 'autopilot_attempt', 'autopilot_event', 'autopilot_lesson'],
    ...['video_analysis', 'video_answer', 'film_upload'],
  ],
  feedback: [
    ...['feedback_submission', 'feedback_status_change', 'feedback_work_item', 'feedback_link'],
    ...['feedback_tracker', 'feedback_reconciliation', 'feedback_delivery'],
  ],
  alerts: ['alert_rule', 'alert', 'alert_streak'],
  webhooks: ['webhook_endpoint', 'webhook_secret', 'webhook_event', 'webhook_delivery', 'webhook_attempt'],
  pilot: [
    ...['pilot_batch', 'pilot_claim_result', 'pilot_stop_event'],
    ...['process_library_session_summary', 'process_library_session_timeline', 'pilot_roi_metric', 'pilot_roi_change'],
    ...['pilot_roi_state', 'pilot_roi_day', 'pilot_roi_times', 'pilot_roi_cost'],
  ],
};

/** The lib that writes each table. */
export const ownerOf = Object.fromEntries(
  Object.entries(tablesOf).flatMap(([lib, tables]) => tables.map((table) => [table, lib])),
);

/** Returns the table of each entity class. */
export function listEntityTables() {
  const texts = readdirSync(join(root, entities)).map((file) => readFileSync(join(root, entities, file), 'utf8'));
  const classes = texts.flatMap((text) => [...text.matchAll(/@Entity\('(\w+)'[^]*?export class (\w+)/g)]);
  return Object.fromEntries(classes.map(([, table, name]) => [name, table]));
}

/** Returns the differences between the entities, the READMEs and the owners. */
export function checkOwners(files) {
  const tables = Object.values(listEntityTables());
  return [
    ...tables
      .filter((table) => !ownerOf[table])
      .map((table) => `${entities}: ${table} has no owner; add it to tools/lint/table-owners.mjs`),
    ...Object.keys(ownerOf)
      .filter((table) => !tables.includes(table))
      .map((table) => `tools/lint/table-owners.mjs: the table ${table} is not in ${entities}`),
    ...Object.keys(tablesOf).flatMap((lib) => checkReadme(lib, files)),
  ];
}

/** Checks the list of tables in the README of an existing lib. */
function checkReadme(lib, files) {
  const readme = `libs/${lib}/README.md`;
  if (!files.includes(readme)) return [];
  const tables = tablesOf[lib];
  const words = `the tables ${tables.slice(0, -1).join(', ')} and ${tables.at(-1)}`;
  const text = readFileSync(join(root, readme), 'utf8').replace(/\s+/g, ' ');
  return text.includes(words) ? [] : [`${readme}: must list its tables: "${words}"`];
}
