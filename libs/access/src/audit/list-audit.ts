import type { AuditQuery } from '@muster/contracts';
import { type AuditEntryEntity, type Database, containsIgnoringCaseSql, scanRowsSql } from '@muster/database';
import { smallestIdAt, type Page } from '@muster/platform';

export type AuditRow = Pick<
  AuditEntryEntity,
  'id' | 'at' | 'actorKind' | 'actorId' | 'actorEmail' | 'action' | 'targetType' | 'targetId' | 'changes' | 'requestId'
>;

/** Lists an organization's audit trail, newest first: ids are ordered by time. */
export function listAuditEntries(
  database: Database,
  organizationId: string,
  { targetId, actorId, action, q, from, to }: AuditQuery,
  page: Page,
): Promise<AuditRow[]> {
  const values: unknown[] = [organizationId];
  const addParameter = (value: unknown) => `$${values.push(value)}`;
  const within = ['organization_id = $1'];
  if (page.after) within.push(`id < ${addParameter(page.after[0])}`);
  if (from) within.push(`id >= ${addParameter(smallestIdAt(new Date(Date.parse(from) - apartMs)))}`);
  if (to) within.push(`id < ${addParameter(smallestIdAt(new Date(Date.parse(to) + apartMs)))}`);
  // The most selective condition chooses a range of an index; the other conditions filter the rows of this range.
  const [first, ...others] = [
    targetId && `target_id = ${addParameter(targetId)}`,
    actorId && `actor_id = ${addParameter(actorId)}`,
    action && `action = ${addParameter(action)}`,
  ].filter((condition) => condition !== undefined);
  if (first) within.push(first);
  if (q) {
    const text = "concat_ws(' ', action, actor_email, actor_id, target_type, target_id)";
    others.push(containsIgnoringCaseSql(text, addParameter(q)));
  }
  if (from) others.push(`at >= ${addParameter(from)}`);
  if (to) others.push(`at <= ${addParameter(to)}`);
  const columns = 'id, at, actor_kind, actor_id, actor_email, action, target_type, target_id, changes, request_id';
  const limit = addParameter(page.limit + 1);
  const text = scanRowsSql({ from: 'audit_entry', columns, within, filter: others, order: 'id DESC', limit });
  return database.query<AuditRow>({ organizationId }, text, values);
}

/** Maximum difference between an entry's time, which the database sets, and the time in its id; in milliseconds. */
const apartMs = 10 * 60_000;
