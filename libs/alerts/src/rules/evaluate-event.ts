import type { AlertRuleEntity, Transaction } from '@muster/database';
import type { EventRow } from '@muster/webhooks';
import { openOrCountAlert, type AlertSubjectFacts } from '../alerts/open-alert';
import { evaluateRunEnd } from './evaluate-run-end';
import { getRuleOfEventType } from './event-types';

/**
 * Opens, counts or resolves the alert that follows from a webhook event. The caller’s transaction also marks the event
 * as fanned out, so each event is evaluated once.
 */
export async function evaluateEventByRules(tx: Transaction, event: EventRow): Promise<void> {
  const name = getRuleOfEventType(event.type);
  if (!name) return;
  const { organizationId, createdAt } = event;
  const [rule] = await tx.query<Pick<AlertRuleEntity, 'channelIds' | 'options'>>(
    'SELECT channel_ids, options FROM alert_rule WHERE organization_id = $1 AND rule = $2 AND enabled',
    [organizationId, name],
    'rule_of_event',
  );
  if (!rule) return;
  const { channelIds } = rule;
  if (name === 'run_failed') return evaluateRunEnd(tx, event, rule);
  const subject = await findAlertSubject(tx, event);
  if (subject) await openOrCountAlert(tx, { organizationId, rule: name, channelIds, ...subject }, { at: createdAt });
}

/** Reads the subject of an event; null if it was deleted. */
async function findAlertSubject(
  tx: Transaction,
  { type, organizationId, subjectId, details }: EventRow,
): Promise<AlertSubjectFacts | null> {
  const kind = type.split('.')[0]!;
  if (kind === 'account') {
    // The event contains the name, so the account need not be read.
    const name = details?.['name'];
    const subject = { type: 'account', id: subjectId, name: typeof name === 'string' ? name : subjectId } as const;
    return { subject, workflowId: null, agentId: null };
  }
  const [row] =
    kind === 'schedule'
      ? await tx.query<Named>(
          `SELECT name, workflow_id, agent_id FROM schedule WHERE id = $1 AND organization_id = $2`,
          [subjectId, organizationId],
          'schedule_of_alert',
        )
      : await tx.query<Named>(
          `SELECT name, NULL::uuid AS workflow_id, id AS agent_id FROM agent WHERE id = $1 AND organization_id = $2`,
          [subjectId, organizationId],
          'agent_of_alert',
        );
  if (!row) return null;
  const { name, ...ids } = row;
  return { subject: { type: kind === 'schedule' ? 'schedule' : 'agent', id: subjectId, name }, ...ids };
}

interface Named {
  name: string;
  workflowId: string | null;
  agentId: string | null;
}
