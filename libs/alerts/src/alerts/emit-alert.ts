import type { AlertRuleName, AlertStatus, AlertSubjectType } from '@muster/contracts';
import { type AlertEntity, recordOrganizationEvent, type Transaction } from '@muster/database';
import { emitEvent } from '@muster/webhooks';

/** The data of an alert that its events contain. */
interface EmittedAlert extends Pick<AlertEntity, 'id' | 'organizationId' | 'count' | 'workflowId' | 'agentId'> {
  rule: AlertRuleName;
  subject: { type: AlertSubjectType; id: string; name: string };
  /** Channels of the alert's rule. */
  channelIds: string[];
  /** Audience of the question that the alert is about. */
  to?: string[] | null;
}

/** An alert that an UPDATE has resolved, with the channels of its rule if the rule is on. */
export type ResolvedRow = Pick<
  AlertEntity,
  'id' | 'organizationId' | 'rule' | 'subjectType' | 'subjectId' | 'subjectName' | 'count' | 'workflowId' | 'agentId'
> & { channelIds: string[] | null };

/** SQL for the columns that an UPDATE of alerts `a` returns for `emitAlertResolvedOfRow`. */
export const resolvedColumns = `a.id, a.organization_id, a.rule, a.subject_type, a.subject_id, a.subject_name, a.count,
  a.workflow_id, a.agent_id, (SELECT r.channel_ids FROM alert_rule r
    WHERE r.organization_id = a.organization_id AND r.rule = a.rule AND r.enabled) AS channel_ids`;

/** Sends an alert that opens to the channels of its rule, to the endpoints that want such events, and to the stream. */
export function emitAlertOpened(tx: Transaction, alert: EmittedAlert): void {
  const { id, organizationId, count, workflowId, agentId, channelIds, to } = alert;
  const details = { status: 'open' as const, resolvedAt: null, count, workflowId, agentId, ...(to ? { to } : {}) };
  emitEvent(tx, { organizationId, type: 'alert.opened', subjects: [{ id, details }], channelIds });
  emitAlertToStream(tx, alert, 'open');
}

/** Sends the resolution of an alert to the same recipients as the alert. */
export function emitAlertResolved(tx: Transaction, alert: EmittedAlert): void {
  const { id, organizationId, count, workflowId, agentId, channelIds } = alert;
  const details = { status: 'resolved' as const, count, workflowId, agentId };
  emitEvent(tx, { organizationId, type: 'alert.resolved', subjects: [{ id, details }], channelIds });
  emitAlertToStream(tx, alert, 'resolved');
}

/**
 * Sends the resolution of an alert that an UPDATE has resolved. If its rule is off, the channels of the rule do not get
 * a message, because a person has turned the rule off.
 */
export function emitAlertResolvedOfRow(tx: Transaction, row: ResolvedRow): void {
  const { subjectType: type, subjectId, subjectName: name, channelIds, ...alert } = row;
  emitAlertResolved(tx, { ...alert, subject: { type, id: subjectId, name }, channelIds: channelIds ?? [] });
}

/** Records the state of an alert as an event of the organization, from which open pages learn of it. */
export function emitAlertToStream(
  tx: Transaction,
  { id: alertId, organizationId, rule, subject, count }: Omit<EmittedAlert, 'channelIds' | 'workflowId' | 'agentId'>,
  status: AlertStatus,
): void {
  const data = { alertId, rule, status, subjectType: subject.type, subjectId: subject.id, subjectName: subject.name };
  recordOrganizationEvent(tx, { organizationId, type: 'alert', data: { ...data, count } });
}
