import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { type AuditRow, Endpoint, listAudit, OrganizationId, allowSessions } from '@muster/access';
import { AuditEntry, AuditList, AuditQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { parsePage, buildPage } from '@muster/platform';

@ApiTags('Audit')
@Controller('/api/audit')
export class AuditController {
  constructor(@Inject(Database) private readonly database: Database) {}

  @Get()
  @Endpoint({
    summary: 'List audit entries, newest first',
    access: allowSessions('admin'),
    answer: AuditList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: AuditQuery): Promise<AuditList> {
    const page = parsePage(query, 'id');
    const rows = await listAudit(this.database, organizationId, query, page);
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { entries: items.map(presentAuditEntry), nextCursor };
  }
}

function presentAuditEntry(entry: AuditRow): AuditEntry {
  const { actorKind: kind, actorId: id, actorEmail } = entry;
  return {
    id: entry.id,
    at: entry.at.toISOString(),
    actor: { kind, id, ...(actorEmail ? { email: actorEmail } : {}) },
    action: entry.action,
    target: { type: entry.targetType, id: entry.targetId },
    changes: entry.changes,
    requestId: entry.requestId,
  };
}
