import type { AuditQuery } from '@muster/contracts';
import { type AuditEntryEntity, type Database, hasPartSql, scanWithinSql } from '@muster/database';
import { firstIdAt, type Page } from '@muster/platform';

export type AuditRow = Pick<
  AuditEntryEntity,
  'id' | 'at' | 'actorKind' | 'actorId' | 'actorEmail' | 'action' | 'targetType' | 'targetId' | 'changes' | 'requestId'
>;

/** Lists an organization's audit trail, newest first: ids are ordered by time. */
export function listAudit(
  database: Database,
  organizationId: string,
  { targetId, actorId, action, q, from, to }: AuditQuery,
  page: Page,
): Promise<AuditRow[]> {
  const values: unknown[] = [organizationId];
  const placed = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id < ${placed(page.after[0])}`);
  if (from) within.push(`id >= ${placed(firstIdAt(new Date(Date.parse(from) - apartMs)))}`);
  if (to) within.push(`id < ${placed(firstIdAt(new Date(Date.parse(to) + apartMs)))}`);
  // The most selective condition chooses a range of an index; the other conditions filter the rows of this range.
  const [first, ...others] = [
    targetId && `target_id = ${placed(targetId)}`,
    actorId && `actor_id = ${placed(actorId)}`,
    action && `action = ${placed(action)}`,
  ].filter((condition) => condition !== undefined);
  if (first) within.push(first);
  if (q) {
    const text = "concat_ws(' ', action, actor_email, actor_id, target_type, target_id)";
    others.push(hasPartSql(text, placed(q)));
  }
  if (from) others.push(`at >= ${placed(from)}`);
  if (to) others.push(`at <= ${placed(to)}`);
  const columns = 'id, at, actor_kind, actor_id, actor_email, action, target_type, target_id, changes, request_id';
  const limit = placed(page.limit + 1);
  const text = scanWithinSql({ from: 'audit_entry', columns, within, filter: others, order: 'id DESC', limit });
  return database.query<AuditRow>({ organizationId }, text, values);
}

/** Maximum difference between an entry's time, which the database sets, and the time in its id; in milliseconds. */
const apartMs = 10 * 60_000;
