import type { AlertRuleName, AlertSubjectType } from '@muster/contracts';
import type { Database } from '@muster/database';
import { type Round, sweepRows } from '@muster/platform';
import { emitAlertResolvedOfRow, resolvedColumns, type ResolvedRow } from '../alerts/emit-alert';
import { openAlertIfConditionHolds } from '../alerts/open-alert';
import { conditions, endedSql } from '../rules/conditions';

/** Maximum number of alerts that one transaction resolves; the next sweep, which follows soon, resolves the others. */
const maxResolved = 500;

interface Candidate {
  organizationId: string;
  channelIds: string[];
  subjectType: AlertSubjectType;
  subjectId: string;
  subjectName: string;
  workflowId: string | null;
  agentId: string | null;
  audience: string[] | null;
}

/**
 * Opens the alerts of rules that evaluate a state, such as that of a machine, and resolves the open alerts whose cause
 * has ended, whose rule is off or whose subject was deleted.
 */
export async function sweepAlerts(database: Database, round: Round): Promise<Record<'opened' | 'resolved', number>> {
  const rules = await database.query<{ rule: AlertRuleName }>(
    'system',
    `SELECT DISTINCT rule FROM alert_rule WHERE enabled
     UNION SELECT DISTINCT rule FROM alert WHERE resolved_at IS NULL`,
    [],
    'rules_to_sweep',
  );
  const counts = { opened: 0, resolved: 0 };
  for (const { rule } of rules) {
    try {
      counts.resolved += await resolveEndedAlerts(database, rule);
    } catch (error) {
      round.recordFailure(`alerts of the rule ${rule}`, error);
    }
    const current = conditions[rule];
    if (current) counts.opened += await openMissingAlerts(database, round, { rule, current });
  }
  return counts;
}

function resolveEndedAlerts(database: Database, rule: AlertRuleName): Promise<number> {
  const current = conditions[rule];
  const isEnded = current
    ? `NOT EXISTS (SELECT FROM (${current}) c
        WHERE c.organization_id = a.organization_id AND c.subject_id = a.subject_id)`
    : (endedSql[rule] ?? 'false');
  return database.transaction('system', async (tx) => {
    const resolved = await tx.query<ResolvedRow>(
      `UPDATE alert a SET resolved_at = muster_now() WHERE a.id IN (
         SELECT a.id FROM alert a
         WHERE a.rule = $1 AND a.resolved_at IS NULL AND (${isEnded} OR NOT EXISTS (
           SELECT FROM alert_rule r WHERE r.organization_id = a.organization_id AND r.rule = $1 AND r.enabled))
         ORDER BY a.id LIMIT $2 FOR UPDATE)
       RETURNING ${resolvedColumns}`,
      [rule, maxResolved],
      `resolve_ended_${rule}`,
    );
    for (const alert of resolved) emitAlertResolvedOfRow(tx, alert);
    return resolved.length;
  });
}

async function openMissingAlerts(
  database: Database,
  round: Round,
  { rule, current }: { rule: AlertRuleName; current: string },
): Promise<number> {
  const { opened } = await sweepRows(round, {
    name: `alerts ${rule}`,
    outcomes: ['opened'],
    candidates: (after: Candidate | null, limit) =>
      database.query<Candidate & object>(
        'system',
        `SELECT c.* FROM (${current}) c
         WHERE ($1::uuid IS NULL OR (c.organization_id, c.subject_id) > ($1, $2::text))
           AND NOT EXISTS (SELECT FROM alert a WHERE a.organization_id = c.organization_id AND a.rule = $3
             AND a.subject_id = c.subject_id AND a.resolved_at IS NULL AND a.count >= c.count)
         ORDER BY c.organization_id, c.subject_id LIMIT $4`,
        [after?.organizationId ?? null, after?.subjectId ?? null, rule, limit],
        `missing_alerts_${rule}`,
      ),
    settle: ({ organizationId, channelIds, subjectType, subjectId, subjectName, audience, workflowId, agentId }) => {
      const subject = { type: subjectType, id: subjectId, name: subjectName };
      const alert = { organizationId, rule, channelIds, subject, workflowId, agentId, to: audience };
      return database.transaction('system', async (tx) =>
        (await openAlertIfConditionHolds(tx, alert, current)) ? 'opened' : null,
      );
    },
    rowOf: ({ subjectType, subjectId }) => `alert ${rule} of ${subjectType} ${subjectId}`,
  });
  return opened;
}
