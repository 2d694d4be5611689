import { audit, describeCaller, type Principal } from '@muster/access';
import { type Alert, type AlertsQuery, notFoundError } from '@muster/contracts';
import { type AlertEntity, type Database, scanRowsSql, type Transaction } from '@muster/database';
import type { Page } from '@muster/platform';
import { emitAlertToStream } from './emit-alert';

export type AlertRow = Omit<AlertEntity, 'organizationId' | 'lastAt' | 'workflowId' | 'agentId'>;

const columns = `a.id, a.rule, a.subject_type, a.subject_id, a.subject_name, a.opened_at, a.resolved_at,
  a.acknowledged_by, a.acknowledged_at, a.count`;

export async function findAlert(database: Database, organizationId: string, id: string): Promise<AlertRow> {
  const [row] = await database.query<AlertRow>(
    { organizationId },
    `SELECT ${columns} FROM alert a WHERE a.id = $1 AND a.organization_id = $2`,
    [id, organizationId],
    'find_alert',
  );
  if (!row) throw notFoundError('alert');
  return row;
}

/** Lists alerts, newest first: ids are ordered by the time at which the alerts opened. */
export function listAlerts(
  database: Database,
  organizationId: string,
  { page, filter: { status, rule } }: { page: Page; filter: AlertsQuery },
): Promise<AlertRow[]> {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  const conditions: string[] = [];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  if (status === 'open') within.push('resolved_at IS NULL');
  if (status === 'resolved') conditions.push('resolved_at IS NOT NULL');
  if (rule) conditions.push(`rule = ${addParameter(rule)}`);
  const limit = addParameter(page.limit + 1);
  const found = scanRowsSql({
    ...{ from: 'alert', columns: 'id', within, filter: conditions, order: 'id DESC', limit },
  });
  return database.query<AlertRow>(
    { organizationId },
    `SELECT ${columns}, f.matches, f.scan_end FROM (${found}) f JOIN alert a ON a.id = f.id ORDER BY a.id DESC`,
    values,
  );
}

/** Records who acknowledged an alert. Only the first caller is recorded, and the alert stays open. */
export async function acknowledgeAlert(tx: Transaction, caller: Principal, id: string): Promise<AlertRow> {
  const { organizationId } = caller;
  const [row] = await tx.query<AlertRow>(
    `SELECT ${columns} FROM alert a WHERE a.id = $1 AND a.organization_id = $2 FOR UPDATE`,
    [id, organizationId],
  );
  if (!row) throw notFoundError('alert');
  audit(tx, caller, {
    action: 'alert.acknowledge',
    target: { type: 'alert', id },
    changes: { rule: row.rule, subject: row.subjectName },
  });
  if (row.acknowledgedBy !== null) return row;
  const acknowledgedBy = describeCaller(caller);
  tx.deferStatement('UPDATE alert SET acknowledged_by = $2, acknowledged_at = muster_now() WHERE id = $1', [
    id,
    acknowledgedBy,
  ]);
  const { rule, subjectType: type, subjectId, subjectName: name, count } = row;
  const subject = { type, id: subjectId, name };
  emitAlertToStream(tx, { id, organizationId, rule, subject, count }, row.resolvedAt ? 'resolved' : 'open');
  return { ...row, acknowledgedBy, acknowledgedAt: tx.now };
}

export function presentAlert(row: AlertRow): Alert {
  const { id, rule, subjectType, subjectId, subjectName, acknowledgedBy, count } = row;
  return {
    ...{ id, rule, subject: { type: subjectType, id: subjectId, name: subjectName } },
    status: row.resolvedAt ? 'resolved' : 'open',
    openedAt: row.openedAt.toISOString(),
    resolvedAt: row.resolvedAt?.toISOString() ?? null,
    acknowledgedBy,
    acknowledgedAt: row.acknowledgedAt?.toISOString() ?? null,
    count,
  };
}
