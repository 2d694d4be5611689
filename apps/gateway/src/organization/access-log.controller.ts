import { Controller, Get, Inject, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  exportAccessEntries,
  listAccessEntries,
  OrganizationId,
  presentAccessEntry,
  allowSessions,
} from '@muster/access';
import { AccessLogExportQuery, AccessLogList, AccessLogQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, OpenStreams, parsePage, buildPage } from '@muster/platform';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { streamCsv } from '../stream-csv';

/** Serves the log of who read data that may identify patients. */
@ApiTags('Audit')
@Controller('/api/access-log')
export class AccessLogController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List reads of sensitive data, newest first',
    description:
      'Lists the reads of screenshots, recordings, dental images, logs, variables, results and exports. Repeated ' +
      'reads of the same resource by the same caller through the same route are one row per minute. A row appears ' +
      'about a second after the read. Rows are retained for six years, unless the operator of the service has set ' +
      'another period.',
    access: allowSessions('audit.read'),
    mayLag: true,
    answer: AccessLogList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: AccessLogQuery): Promise<AccessLogList> {
    const page = parsePage(query, 'id');
    const rows = await listAccessEntries(this.database, organizationId, query, page);
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { entries: items.map(presentAccessEntry), nextCursor };
  }

  @Get('/export')
  @Endpoint({
    summary: 'Export the access log as CSV',
    access: allowSessions('audit.read'),
    mayLag: true,
    reads: 'access_log',
    csv: true,
    waits: true,
    errors: ['invalid_payload'],
  })
  async export(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @OrganizationId() organizationId: string,
    @Query() query: AccessLogExportQuery,
  ): Promise<void> {
    const pieces = exportAccessEntries(this.database, organizationId, query);
    const filename = `access-log-${this.clock.now().toISOString().slice(0, 10)}.csv`;
    await streamCsv({ request, reply, streams: this.streams }, filename, pieces);
  }
}
