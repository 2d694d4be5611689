import type { AuditQuery } from '@muster/contracts';
import { AuditEntryEntity, type Database } from '@muster/database';
import type { Page } from '@muster/platform';

/** An organization's trail, newest first. */
export function listAudit(
  database: Database,
  organizationId: string,
  query: AuditQuery,
  page: Page,
): Promise<AuditEntryEntity[]> {
  return database.transaction({ organizationId }, (tx) => {
    const entries = tx.manager
      .createQueryBuilder(AuditEntryEntity, 'entry')
      .where('entry.organizationId = :organizationId', { organizationId })
      .orderBy('entry.id', 'DESC')
      .limit(page.limit + 1);
    if (query.action) entries.andWhere('entry.action = :action', { action: query.action });
    if (query.actorId) entries.andWhere('entry.actorId = :actorId', { actorId: query.actorId });
    if (query.targetId) entries.andWhere('entry.targetId = :targetId', { targetId: query.targetId });
    if (query.from) entries.andWhere('entry.at >= :from', { from: query.from });
    if (query.to) entries.andWhere('entry.at <= :to', { to: query.to });
    if (page.after) entries.andWhere('entry.id < :after', { after: page.after[0] });
    return entries.getMany();
  });
}
