import { audit, listChangedFields, type Principal } from '@muster/access';
import {
  type AlertRule,
  type AlertRuleName,
  alertRules,
  invalidFieldError,
  notFoundError,
  type SetAlertRuleBody,
} from '@muster/contracts';
import { type AlertRuleEntity, type Database, acquireAdvisoryLock, type Transaction } from '@muster/database';
import { isUuid } from '@muster/platform';
import { emitAlertResolvedOfRow, resolvedColumns, type ResolvedRow } from '../alerts/emit-alert';
import { getEventTypesOfRule } from './event-types';
import { getDefaultOptions, parseRuleOptions } from './rule-options';

/** The settings of a rule `r`, without channels that were deleted. */
const settings = `r.rule, r.enabled, r.options, ARRAY(
  SELECT c.id FROM unnest(r.channel_ids) WITH ORDINALITY AS c (id, place)
  WHERE EXISTS (SELECT FROM webhook_endpoint w WHERE w.id = c.id) ORDER BY c.place) AS channel_ids`;

type Settings = Pick<AlertRuleEntity, 'rule' | 'enabled' | 'channelIds' | 'options'>;

/** Lists all rules with their settings. A rule that no admin has changed is off and has its default options. */
export async function listAlertRules(database: Database, organizationId: string): Promise<AlertRule[]> {
  const rows = await database.query<Settings>(
    { organizationId },
    `SELECT ${settings} FROM alert_rule r WHERE r.organization_id = $1`,
    [organizationId],
    'list_alert_rules',
  );
  return alertRules.map((rule) => presentAlertRule(rows.find((row) => row.rule === rule) ?? getDefaultSettings(rule)));
}

/** Replaces the settings of a rule. If the rule is turned off, its open alerts are resolved. */
export async function setAlertRule(
  tx: Transaction,
  caller: Principal,
  name: string,
  body: SetAlertRuleBody,
): Promise<AlertRule> {
  const { organizationId } = caller;
  const rule = alertRules.find((each) => each === name);
  if (!rule) throw notFoundError('alert rule');
  const options = parseRuleOptions(rule, body);
  const channelIds = [...new Set(body.channelIds ?? [])];
  await acquireAdvisoryLock(tx, 'alert rule', `${organizationId} ${rule}`);
  await requireExistingChannels(tx, organizationId, channelIds);
  const [before = getDefaultSettings(rule)] = await tx.query<Settings>(
    `SELECT ${settings} FROM alert_rule r WHERE r.organization_id = $1 AND r.rule = $2`,
    [organizationId, rule],
  );
  const { enabled } = body;
  tx.deferStatement(
    `INSERT INTO alert_rule (organization_id, rule, enabled, channel_ids, options, event_types)
     VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (organization_id, rule) DO UPDATE SET enabled = EXCLUDED.enabled, channel_ids = EXCLUDED.channel_ids,
       options = EXCLUDED.options, event_types = EXCLUDED.event_types, updated_at = muster_now()`,
    [organizationId, rule, enabled, channelIds, JSON.stringify(options), getEventTypesOfRule(rule)],
  );
  if (!enabled) await turnRuleOff(tx, organizationId, rule);
  audit(tx, caller, {
    action: 'alert_rule.update',
    target: { type: 'alert_rule', id: rule },
    changes: listChangedFields(
      { enabled: before.enabled, channelIds: before.channelIds, ...before.options },
      { enabled, channelIds, ...options },
    ),
  });
  return presentAlertRule({ rule, enabled, channelIds, options });
}

function getDefaultSettings(rule: AlertRuleName): Settings {
  return { rule, enabled: false, channelIds: [], options: getDefaultOptions(rule) };
}

function presentAlertRule({ rule, enabled, channelIds, options }: Settings): AlertRule {
  return { rule, enabled, channelIds, ...options };
}

async function turnRuleOff(tx: Transaction, organizationId: string, rule: AlertRuleName): Promise<void> {
  // Runs that end while the rule is off are not counted, so a stored count would be wrong when the rule is turned on
  // again. The streaks are deleted before the alerts are resolved, because the end of a run locks its streak first,
  // too.
  if (rule === 'run_failed') tx.deferStatement('DELETE FROM alert_streak WHERE organization_id = $1', [organizationId]);
  const resolved = await tx.query<ResolvedRow>(
    `UPDATE alert a SET resolved_at = muster_now()
     WHERE organization_id = $1 AND rule = $2 AND resolved_at IS NULL RETURNING ${resolvedColumns}`,
    [organizationId, rule],
  );
  for (const alert of resolved) emitAlertResolvedOfRow(tx, alert);
}

/** Throws if one of the ids is not that of a notification channel of the organization. */
async function requireExistingChannels(tx: Transaction, organizationId: string, ids: string[]): Promise<void> {
  const rows = await tx.query<{ id: string }>(
    `SELECT id FROM webhook_endpoint WHERE organization_id = $1 AND name IS NOT NULL AND id = ANY($2::uuid[])
     ORDER BY id FOR KEY SHARE`,
    [organizationId, ids.filter(isUuid)],
  );
  const known = new Set(rows.map(({ id }) => id));
  const wrong = ids.findIndex((id) => !known.has(id.toLowerCase()));
  if (wrong < 0) return;
  const message = 'must be the id of a notification channel of the organization';
  throw invalidFieldError(`channelIds.${wrong}`, message, `channelIds.${wrong} ${message}.`);
}
