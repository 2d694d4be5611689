import type { AlertRuleName, AlertSubjectType } from '@muster/contracts';
import type { AlertEntity, Transaction } from '@muster/database';
import { newId } from '@muster/platform';
import { emitAlertOpened, emitAlertResolved, emitAlertToStream } from './emit-alert';

const maxName = 200;

export interface AlertSubjectFacts {
  subject: { type: AlertSubjectType; id: string; name: string };
  /** Workflow and agent of the subject, by which the filters of channels select alerts. */
  workflowId: string | null;
  agentId: string | null;
  /** Audience of the question that the alert is about. */
  to?: string[] | null;
}

export interface NewAlert extends AlertSubjectFacts {
  organizationId: string;
  rule: AlertRuleName;
  channelIds: string[];
}

interface Occurrence {
  at: Date;
  /** Count of an alert that opens; by default 1. */
  count?: number;
  /** Whether a message is sent even if the alert is open already. */
  sendsEach?: boolean;
}

type Added = Pick<AlertEntity, 'id' | 'count'> & { opened: boolean };

/** Opens an alert, or adds 1 to the count of the open alert for the rule and the subject. */
export async function openOrCountAlert(
  tx: Transaction,
  alert: NewAlert,
  { at, count = 1, sendsEach = false }: Occurrence,
): Promise<void> {
  const { organizationId, rule, subject, workflowId, agentId } = alert;
  const [added] = await tx.query<Added>(
    `INSERT INTO alert AS a (id, organization_id, rule, subject_type, subject_id, subject_name, last_at, count,
       workflow_id, agent_id)
     VALUES ($1, $2, $3, $4, $5, left($6, ${maxName}), $7, $8, $9, $10)
     ON CONFLICT (organization_id, rule, subject_id) WHERE resolved_at IS NULL
     DO UPDATE SET count = a.count + 1, last_at = GREATEST(a.last_at, EXCLUDED.last_at)
     RETURNING id, count, xmax = 0 AS opened`,
    [newId(), organizationId, rule, subject.type, subject.id, subject.name, at, count, workflowId, agentId],
    'add_to_alert',
  );
  const emitted = { ...alert, id: added!.id, count: added!.count };
  if (added!.opened || sendsEach) emitAlertOpened(tx, emitted);
  else emitAlertToStream(tx, emitted, 'open');
}

/** Inserts an alert that is resolved already, and sends that it opened and that it was resolved. */
export async function insertResolvedAlert(tx: Transaction, alert: NewAlert, { at }: { at: Date }): Promise<void> {
  const { organizationId, rule, subject, workflowId, agentId } = alert;
  const id = newId();
  await tx.execute(
    `INSERT INTO alert (id, organization_id, rule, subject_type, subject_id, subject_name, last_at, resolved_at,
       workflow_id, agent_id)
     VALUES ($1, $2, $3, $4, $5, left($6, ${maxName}), $7, muster_now(), $8, $9)`,
    [id, organizationId, rule, subject.type, subject.id, subject.name, at, workflowId, agentId],
    'insert_resolved_alert',
  );
  emitAlertOpened(tx, { ...alert, id, count: 1 });
  emitAlertResolved(tx, { ...alert, id, count: 1 });
}

/**
 * Opens the alert of a subject for which a condition holds. `currentSql` is the condition's statement; it is evaluated
 * again in this transaction. Returns whether the alert opened.
 */
export async function openAlertIfConditionHolds(
  tx: Transaction,
  { organizationId, rule, channelIds, ...facts }: NewAlert,
  currentSql: string,
): Promise<boolean> {
  const [added] = await tx.query<Added>(
    `INSERT INTO alert AS a (id, organization_id, rule, subject_type, subject_id, subject_name, count, workflow_id, agent_id)
     SELECT $1, c.organization_id, $2, c.subject_type, c.subject_id, left(c.subject_name, ${maxName}), c.count,
       c.workflow_id, c.agent_id
     FROM (${currentSql}) c WHERE c.organization_id = $3 AND c.subject_id = $4
     ON CONFLICT (organization_id, rule, subject_id) WHERE resolved_at IS NULL
     DO UPDATE SET count = EXCLUDED.count, last_at = muster_now() WHERE a.count < EXCLUDED.count
     RETURNING id, count, xmax = 0 AS opened`,
    [newId(), rule, organizationId, facts.subject.id],
    `open_alert_${rule}`,
  );
  if (!added) return false;
  const { opened, ...state } = added;
  const emitted = { organizationId, rule, channelIds, ...facts, ...state };
  if (opened) emitAlertOpened(tx, emitted);
  else emitAlertToStream(tx, emitted, 'open');
  return opened;
}
