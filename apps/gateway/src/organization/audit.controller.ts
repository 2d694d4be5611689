import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  listAuditEntries,
  OrganizationId,
  presentAuditEntry,
  readAuditProof,
  allowSessions,
} from '@muster/access';
import { AuditList, AuditProof, AuditProofQuery, AuditQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, parsePage, buildPage } from '@muster/platform';

@ApiTags('Audit')
@Controller('/api/audit')
export class AuditController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List audit entries, newest first',
    access: allowSessions('audit.read'),
    mayLag: true,
    answer: AuditList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: AuditQuery): Promise<AuditList> {
    const page = parsePage(query, 'id');
    const rows = await listAuditEntries(this.database, organizationId, query, page);
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { entries: items.map(presentAuditEntry), nextCursor };
  }

  @Get('/proof')
  @Endpoint({
    summary: 'Get the hashes of a day of the audit trail and the access log',
    description:
      'The days of an organization are chained: the hash of each day covers its rows and the hash of the day ' +
      'before. If you store a hash outside the service, you can later prove with it that no row up to this day was ' +
      'changed, removed or added. A day contains the rows whose `at` is on that day in UTC. A day is closed some ' +
      'minutes after its end.',
    access: allowSessions('audit.read'),
    answer: AuditProof,
    waits: true,
    errors: ['invalid_payload'],
  })
  proof(@OrganizationId() organizationId: string, @Query() { day }: AuditProofQuery): Promise<AuditProof> {
    return readAuditProof(this.database, organizationId, { day, now: this.clock.now() });
  }
}
